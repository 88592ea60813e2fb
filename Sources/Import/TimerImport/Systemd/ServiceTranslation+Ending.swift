// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

extension ServiceTranslation {
    mutating func translateEnding() {
        translateTimeouts()
        translateExitStatus()
        translateRestarts()
        translateLeftovers()
        if let remains = unit.boolean("Service", "RemainAfterExit") {
            unit.mark(
                remains.index,
                remains.value
                    ? .lost(
                        "systemd does not start the service again while it remains active, and the job runs each time"
                    )
                    : .unneeded("it is the default"))
        }
    }

    private mutating func translateTimeouts() {
        let isOneshot = type == "oneshot"
        let start = span(["TimeoutStartSec", "TimeoutSec"], zeroIsInfinity: true)
        let runtime = span(["RuntimeMaxSec"])
        if let timeout = (isOneshot ? start : runtime) ?? nil {
            set("timeout", .span(timeout))
        }
        if !isOneshot, let index = unit.last("Service", "TimeoutStartSec") {
            switch type {
            case "simple", "exec", "idle":
                unit.mark(
                    index,
                    .unneeded(
                        "the service counts as started at once; RuntimeMaxSec= limits its time"))
            default: unit.mark(index, .lost("a run does not report that it has started"))
            }
        }
        if isOneshot, let index = unit.last("Service", "RuntimeMaxSec") {
            unit.mark(index, .unneeded("it has no effect with Type=oneshot"))
        }
        // systemd waits 90 s before SIGKILL, and timerd 10 s.
        let stop = span(["TimeoutStopSec", "TimeoutSec"], zeroIsInfinity: true)
        switch stop {
        case .some(let span): set("kill-timeout", span.map(TomlValue.span) ?? .string("100y"))
        case nil: set("kill-timeout", .string("1min 30s"))
        }
    }

    /// The signals by which a service ends well, unless it has Type=oneshot (systemd.service(5),
    /// SuccessExitStatus=).
    private static let cleanSignals: Set<String> = ["SIGHUP", "SIGINT", "SIGPIPE", "SIGTERM"]

    private mutating func translateExitStatus() {
        var codes: Set<Int> = [0]
        var signals = type == "oneshot" || hasSeveralCommands ? [] : Self.cleanSignals
        for index in unit.list("Service", "SuccessExitStatus") {
            for word in words(index) {
                if let code = UnitValue.exitStatus(word) {
                    codes.insert(code)
                } else if let signal = SuccessExitStatus.signal(named: word) {
                    if hasSeveralCommands {
                        unit.mark(
                            index,
                            .lost(
                                "if a signal ends one of several commands, the run ends with an exit code, and fails"
                            ))
                    } else {
                        signals.insert(signal)
                    }
                } else {
                    unit.mark(
                        index,
                        .lost("\(word) is neither an exit status nor a signal that ends a process"))
                }
            }
        }
        // The command says already that nothing is a failure.
        guard !keys.contains(where: { $0.key == "success-exit-codes" }) else { return }
        if codes.count > 1 {
            set("success-exit-codes", .array(codes.sorted().map { .integer(Int64($0)) }))
        }
        if !signals.isEmpty { set("success-signals", .strings(signals.sorted())) }
    }

    // MARK: - Restarts

    private mutating func translateRestarts() {
        let delay = span(["RestartSec"]) ?? .milliseconds(100)
        let limits = restartLimits()
        guard let index = unit.last("Service", "Restart") else { return unneededRestarts() }
        switch unit[index].value {
        case "no":
            unit.mark(index, .unneeded("it is the default"))
            return unneededRestarts()
        case "on-failure": unit.mark(index, .mapped)
        case "on-abnormal", "on-abort", "on-watchdog":
            unit.mark(index, .lost("each failed run is retried, also after an exit code"))
        case "always":
            unit.mark(index, .lost("a run that succeeded is not repeated before the next time"))
        case "on-success":
            unit.mark(index, .lost("a run that succeeded is not repeated before the next time"))
            return unneededRestarts()
        default:
            unit.mark(index, .lost("systemd does not know this value and ignores it"))
            return unneededRestarts()
        }
        // systemd gives up after `burst` starts within the interval; if they take longer, never.
        let wait = delay ?? .seconds(1000)
        let isEndless =
            limits.interval == .zero || limits.burst == 0
            || wait * max(1, limits.burst) >= limits.interval
        let retries = isEndless ? 1000 : min(1000, limits.burst - 1)
        if isEndless {
            unit.mark(
                index, .lost("systemd restarts it without end, and the job is retried 1000 times"))
        }
        guard retries > 0 else { return }
        set("retries", .integer(Int64(retries)))
        set("retry-delay", delay.map(TomlValue.span) ?? .string("100y"))
        set("retry-backoff", .integer(1))
    }

    /// How many starts systemd allows within which time.
    private mutating func restartLimits() -> (interval: Duration, burst: Int) {
        var interval: Duration = .seconds(10)
        var burst = 5
        for section in ["Unit", "Service"] {
            for key in ["StartLimitInterval", "StartLimitIntervalSec"] {
                guard let index = unit.last(section, key) else { continue }
                unit.mark(index, .mapped)
                do throws(TimeSpanError) {
                    interval = try UnitValue.span(unit[index].value) ?? .seconds(100 * 31_557_600)
                } catch {
                    unit.mark(index, .lost("not a time span: \(error)"))
                }
            }
            guard let index = unit.last(section, "StartLimitBurst") else { continue }
            unit.mark(index, .mapped)
            if let number = Int(unit[index].value), (0...1_000_000).contains(number) {
                burst = number
            } else {
                unit.mark(index, .lost("not a number"))
            }
        }
        return (interval, burst)
    }

    /// A service that is not restarted needs none of the other keys about restarts.
    private mutating func unneededRestarts() {
        for (section, key) in [
            ("Service", "RestartSec"), ("Unit", "StartLimitInterval"),
            ("Unit", "StartLimitIntervalSec"), ("Unit", "StartLimitBurst"),
            ("Service", "StartLimitInterval"), ("Service", "StartLimitBurst"),
        ] {
            if let index = unit.last(section, key) {
                unit.mark(
                    index, .unneeded("the service is not restarted, so it has no effect"))
            }
        }
    }

    // MARK: - Processes that are left

    private mutating func translateLeftovers() {
        var killsLeftovers = type != "forking"
        if let index = unit.last("Service", "KillMode") {
            switch unit[index].value {
            case "control-group": unit.mark(index, .unneeded("it is the default"))
            case "mixed":
                unit.mark(index, .lost("all processes of a run that is stopped get SIGTERM"))
            case "process", "none":
                unit.mark(
                    index,
                    .lost(
                        "what a run leaves behind continues, but the process group of a run that is stopped is ended"
                    ))
                killsLeftovers = false
            default: unit.mark(index, .lost("systemd does not know this value and ignores it"))
            }
        }
        if !killsLeftovers { set("kill-leftovers", .boolean(false)) }
    }
}
