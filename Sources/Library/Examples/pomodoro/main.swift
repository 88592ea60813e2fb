// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import PausableTimers

// `swift run pomodoro [--work MINUTES] [--rest MINUTES] [--folder PATH] [--trace]`: work and rest
// alternate. Type `p` and return to pause, `r` to resume, `n` to restart the round, `q` to quit.
// However the program ends, by `q`, by `kill -9` or by a restart of the machine, the next start
// continues where it was: at most one second of a round is lost, and a paused round is still
// paused. `--trace` writes the account and the clock, for a test.

var minutes = (work: 25.0, rest: 5.0)
var folder = (getenv("XDG_STATE_HOME").map { String(cString: $0) } ?? "/tmp") + "/pomodoro"
var isTracing = false

var arguments = CommandLine.arguments.dropFirst()
while let option = arguments.popFirst() {
    switch (option, arguments.first) {
    case ("--trace", _): isTracing = true
    case ("--work", let value?): minutes.work = Double(value) ?? 25
    case ("--rest", let value?): minutes.rest = Double(value) ?? 5
    case ("--folder", let value?): folder = value
    default:
        print("usage: pomodoro [--work MINUTES] [--rest MINUTES] [--folder PATH] [--trace]")
        exit(2)
    }
    if option != "--trace" { arguments.removeFirst() }
}

/// Writes each line at once, without the buffering of `print`, also when the output is a pipe.
@Sendable func show(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

@Sendable func report(_ account: TimerAccount) {
    show(
        "\(account.active.wholeNanoseconds) \(account.savedAt.awake.nanoseconds) "
            + "\(account.state.rawValue)")
}

/// Minutes and seconds: `24:07`.
func clock(_ span: Duration) -> String {
    let seconds = Int(span / .seconds(1))
    return "\(seconds / 60):" + (seconds % 60 < 10 ? "0" : "") + "\(seconds % 60)"
}

do {
    let group = try TimerGroup(accounts: AccountFolder(folder)) { show("pomodoro: \($0)") }
    let (work, rest) = (Duration.seconds(minutes.work * 60), Duration.seconds(minutes.rest * 60))
    // Both timers have the interval of a whole round. The second one ticks when the rest starts.
    let round = try group.every("round", work + rest) { tick in
        show("Back to work (\(tick.number))")
    }
    let restored = round.account
    let pause = try group.every("rest", work + rest, first: .after(work)) { _ in show("Take a rest")
    }
    if isTracing {
        report(restored)
        let trace = try PausableTimer.every(.milliseconds(20), first: .now) { _ in
            report(round.account)
        }
        DispatchQueue(label: "input").async {
            while let line = readLine() {
                switch line {
                case "p": group.pauseAll()
                case "r": group.resumeAll()
                default: break
                }
                // Now a kill does not lose it.
                group.save()
                show("done \(line)")
            }
        }
        withExtendedLifetime((trace, pause)) { dispatchMain() }
    }
    if round.state == .paused { show("Paused; r resumes") }
    while true {
        let isResting = (pause.remaining ?? .zero) > (round.remaining ?? .zero)
        let left = isResting ? round.remaining : pause.remaining
        show("\(isResting ? "rest" : "work"), \(clock(left ?? .zero)) left, \(round.state)")
        switch readLine() {
        case "p":
            group.pauseAll()
            group.save()
        case "r": group.resumeAll()
        case "n": for name in group.names { group.restart(name) }
        case "q", nil:
            group.save()
            exit(0)
        default:
            show("p pauses, r resumes, n begins the round again, q quits; return shows the time")
        }
    }
} catch {
    show("pomodoro: \(error)")
    exit(1)
}
