#!/usr/bin/env escript
%%! +S 1:1 +P 1048576 -start_epmd false
%% The same questions as bench/supervisor.ts, asked of the real OTP supervisor.
%% Prints question, unit, wall-clock and CPU time, separated by tabs.
-module(supervisor_bench).
-mode(compile).
-export([main/1, init/1, start_child/1, child/1]).

main([CountArg, KillsArg]) ->
    Count = list_to_integer(CountArg),
    Kills = list_to_integer(KillsArg),
    logger:remove_handler(default),
    starts(Count),
    [restarts(Strategy, N, Kills) || Strategy <- [simple_one_for_one, one_for_one], N <- [1000, Count]].

init({simple_one_for_one, Restart}) ->
    {ok, {#{strategy => simple_one_for_one, intensity => 1000000, period => 1},
          [#{id => child, start => {?MODULE, start_child, []}, restart => Restart}]}};
init(one_for_one) ->
    {ok, {#{strategy => one_for_one, intensity => 1000000, period => 1}, []}}.

start_child(_) -> proc_lib:start_link(?MODULE, child, [self()]).
child(Parent) -> proc_lib:init_ack(Parent, {ok, self()}), receive stop -> ok end.

starts(Count) ->
    {ok, Sup} = supervisor:start_link(?MODULE, {simple_one_for_one, temporary}),
    Start = us(fun() -> [supervisor:start_child(Sup, [N]) || N <- lists:seq(1, Count)] end),
    say("start one of ~w dynamic children", [Count], Start, Count),
    Stop = us(fun() -> stop(Sup) end),
    say("stop ~w dynamic children at once, each", [Count], Stop, Count).

restarts(Strategy, Count, Kills0) ->
    %% OTP looks a static child up by scanning; 2,000 kills among 100,000 would take minutes.
    Kills = case Strategy of one_for_one when Count > 1000 -> 20; _ -> min(Kills0, Count) end,
    {ok, Sup} = supervisor:start_link(?MODULE, case Strategy of one_for_one -> one_for_one; S -> {S, permanent} end),
    Pids = [begin {ok, P} = supervisor:start_child(Sup, arg(Strategy, N)), P end || N <- lists:seq(1, Count)],
    Us = us(fun() -> [begin exit(P, kill), supervisor:get_childspec(Sup, child) end || P <- lists:sublist(Pids, Kills)] end),
    say("~w: killed to restarted among ~w", [Strategy, Count], Us, Kills),
    unlink(Sup), exit(Sup, kill).

arg(simple_one_for_one, N) -> [N];
arg(one_for_one, N) -> #{id => N, start => {?MODULE, start_child, [N]}}.

stop(Sup) -> unlink(Sup), M = monitor(process, Sup), exit(Sup, shutdown), receive {'DOWN', M, _, _, _} -> ok end.
us(F) ->
    T = erlang:monotonic_time(nanosecond), {C, _} = statistics(runtime), F(), {C1, _} = statistics(runtime),
    {(erlang:monotonic_time(nanosecond) - T) / 1000, (C1 - C) * 1000}.
say(Format, Args, {Wall, Cpu}, N) -> io:format("~s\tus\t~.2f\t~.2f~n", [io_lib:format(Format, Args), Wall / N, Cpu / N]).
