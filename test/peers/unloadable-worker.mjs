// A worker whose file cannot be loaded: piscina then marks its pool as broken for ever.
throw new Error("This worker cannot be loaded.")
