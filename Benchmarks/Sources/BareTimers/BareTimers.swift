// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// `BareTimers ARMED FIRING PERIOD PROGRAM FILE`: creates ARMED DispatchSourceTimers. FIRING of
/// them fire every PERIOD milliseconds, each at a different time, and start PROGRAM FILE with
/// posix_spawn(3); the others are due in a day. It reaps the processes and records nothing, so it
/// does the minimum that a scheduler with such timers can do. It runs until it is killed.
@main
struct BareTimers {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 6, let armed = Int(arguments[1]), let firing = Int(arguments[2]),
            let period = Int(arguments[3]), firing > 0
        else {
            giveUp("usage: BareTimers ARMED FIRING PERIOD PROGRAM FILE")
        }
        let queue = DispatchQueue(label: "timers")
        let command = Command(arguments[4], arguments[5])
        let begin = DispatchWallTime.now() + .seconds(1)
        let timers = (0..<armed).map { index in
            let timer = DispatchSource.makeTimerSource(queue: queue)
            if index < firing {
                let phase = DispatchTimeInterval.microseconds(period * 1000 * index / firing)
                timer.schedule(
                    wallDeadline: begin + phase, repeating: .milliseconds(period),
                    leeway: .nanoseconds(0))
            } else {
                timer.schedule(wallDeadline: begin + .seconds(86_400), leeway: .nanoseconds(0))
            }
            timer.setEventHandler { @Sendable in command.start() }
            timer.activate()
            return timer
        }
        signal(SIGCHLD) { _ in }
        let ends = DispatchSource.makeSignalSource(signal: SIGCHLD, queue: queue)
        ends.setEventHandler { @Sendable in while waitpid(-1, nil, WNOHANG) > 0 {} }
        ends.activate()
        withExtendedLifetime((timers, ends)) { dispatchMain() }
    }
}

/// A program and its argument in the form that posix_spawn needs. It exists until this process
/// ends.
private struct Command: Sendable {
    private nonisolated(unsafe) let words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

    init(_ program: String, _ file: String) {
        words = .allocate(capacity: 3)
        words.initialize(to: strdup(program))
        (words + 1).initialize(to: strdup(file))
        (words + 2).initialize(to: nil)
    }

    func start() {
        var child = pid_t()
        guard let program = words[0] else { return }
        let code = posix_spawn(&child, program, nil, nil, words, environ)
        if code != 0 { giveUp("BareTimers: \(String(cString: strerror(code)))") }
    }
}

private func giveUp(_ why: String) -> Never {
    let line = Array("\(why)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
