// Our shapes as JSON Schema, which is how MCP describes what a tool takes and gives.
//
// A host shows these to its model and may check answers with them, so they must say no more than what is true of every answer: text sizes
// and the like stay in the docs. Parameters are checked by `schema.ts` and not by the SDK: its refusals have kinds.
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server"
import type { Fields, Type } from "../schema.ts"

type JsonSchema = Record<string, unknown>

export function jsonSchemaOf(type: Type, isDescribed: boolean): JsonSchema {
  if ("oneOf" in type) return { type: "string", enum: [...type.oneOf] }
  if ("either" in type) return { anyOf: type.either.map((it) => jsonSchemaOf(it, isDescribed)) }
  if ("list" in type) return { type: "array", items: jsonSchemaOf(type.list, isDescribed) }
  if ("fields" in type) return recordSchema(type.fields, isDescribed, isDescribed)
  const { type: name, min, max } = type
  // Any JSON value.
  if (name === "json") return {}
  const schema: JsonSchema = { type: name }
  if (min !== undefined) schema[name === "string" ? "minLength" : "minimum"] = min
  if (max !== undefined) schema[name === "string" ? "maxLength" : "maximum"] = max
  return schema
}

/** Of what a tool takes: a name that it does not know is refused. */
export function parametersSchema(fields: Fields): JsonSchema {
  return { ...recordSchema(fields, true, true), additionalProperties: false }
}

/** Of what a tool gives. Some hosts show it to their model with every request: it explains only what stands at the top. */
export function resultSchema(fields: Fields): JsonSchema {
  return recordSchema(fields, true, false)
}

function recordSchema(fields: Fields, isDescribed: boolean, arePartsDescribed: boolean): JsonSchema {
  const properties: JsonSchema = {}
  const required: string[] = []
  for (const [name, field] of Object.entries(fields)) {
    properties[name] = { ...jsonSchemaOf(field, arePartsDescribed), ...(isDescribed && { description: field.doc }) }
    if (field.optional !== true) required.push(name)
  }
  return { type: "object", properties, ...(required.length > 0 && { required }) }
}

/** As the SDK takes them: described, and passed on as they come. */
export function describedBy(schema: JsonSchema): StandardSchemaWithJSON {
  return {
    "~standard": {
      version: 1,
      vendor: "nacre",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  }
}
