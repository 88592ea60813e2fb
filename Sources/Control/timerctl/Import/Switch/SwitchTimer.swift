// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore
import TimerImport

/// A timer of systemd that is switched off and on.
struct SwitchTimer {
    let unit: UnitName
    let start: SwitchedSource.TimerStart

    /// How a timer that is active gets started.
    ///
    /// - Returns: nil if it is not active, so that there is nothing to switch.
    /// - Throws: if it cannot be switched off and on again.
    static func start(of unit: UnitName) throws(SwitchFault) -> SwitchedSource.TimerStart? {
        let active = try property("ActiveState", of: unit.description)
        guard active == "active" else { return nil }
        let file = try property("UnitFileState", of: unit.description)
        guard let start = SwitchedSource.TimerStart(rawValue: file) else {
            throw SwitchFault(
                "systemd says that it is \(file.isEmpty ? "without a file" : file), and such a timer cannot be switched off and on again"
            )
        }
        return start
    }

    static func property(_ name: String, of unit: String) throws(SwitchFault) -> String {
        let output = try Tool.done(["systemctl", "show", "--value", "-p", name, "--", unit])
        return String(decoding: output.prefix { $0 != 10 }, as: UTF8.self)
    }

    // MARK: - Changes

    /// What keeps the timer off after the next boot. Until `stop`, it is on.
    func disable() throws(SwitchFault) {
        switch start {
        case .enabled: try Tool.done(["systemctl", "disable", "--", unit.description])
        case .static: try Tool.done(["systemctl", "mask", "--", unit.description])
        case .disabled: break
        }
    }

    func enable() throws(SwitchFault) {
        switch start {
        case .enabled: try Tool.done(["systemctl", "enable", "--", unit.description])
        case .static: try Tool.done(["systemctl", "unmask", "--", unit.description])
        case .disabled: break
        }
    }

    /// This is what switches it off.
    func stop() throws(SwitchFault) { try Tool.done(["systemctl", "stop", "--", unit.description]) }

    /// Switches it on. It is started before it is enabled, because a timer that is enabled and not started runs
    /// nothing, and its guard says that it is on.
    func switchOn() throws(SwitchFault) {
        if start == .static { try enable() }
        // With Persistent=true, systemd would catch up what timerd ran.
        utimensat(AT_FDCWD, "/var/lib/systemd/timers/stamp-\(unit)", nil, AT_SYMLINK_NOFOLLOW)
        try Tool.done(["systemctl", "start", "--", unit.description])
        if start != .static { try enable() }
    }

    // MARK: - Times

    /// What systemd knows of the timer.
    struct Facts {
        /// How late its service may be started.
        var delay: Duration
        var lastStart: WallInstant?
        /// When it elapses next by the wall clock, and after which time from now.
        var next: WallInstant?
        var nextIn: Duration?
        /// Whether its service is running.
        var isRunning: Bool
    }

    func facts() throws(SwitchFault) -> Facts {
        let names = [
            "AccuracyUSec", "RandomizedDelayUSec", "LastTriggerUSec", "NextElapseUSecRealtime",
            "NextElapseUSecMonotonic", "Unit",
        ]
        let output = try Tool.done(
            [
                "busctl", "--system", "get-property", "org.freedesktop.systemd1",
                "/org/freedesktop/systemd1/unit/" + Self.label(unit.description),
                "org.freedesktop.systemd1.Timer",
            ] + names)
        let values = String(decoding: output, as: UTF8.self).split(separator: "\n").map {
            $0.split(separator: " ", maxSplits: 1).last.map(String.init) ?? ""
        }
        guard values.count == names.count else {
            throw SwitchFault("busctl does not say when it elapses")
        }
        func number(_ index: Int) -> Int64? {
            Int64(values[index]).flatMap { $0 > 0 ? $0 : nil }
        }
        let service = values[5].filter { $0 != "\"" }.replacing("\\\\", with: "\\")
        let state = try Self.property("ActiveState", of: service)
        return Facts(
            delay: .microseconds((number(0) ?? 0) + (number(1) ?? 0)),
            lastStart: number(2).map(WallInstant.init(microsecondsSinceEpoch:)),
            next: number(3).map(WallInstant.init(microsecondsSinceEpoch:)),
            nextIn: number(4).map { .microseconds($0 - Self.clock(CLOCK_MONOTONIC)) },
            isRunning: state != "inactive" && state != "failed")
    }

    /// A clock of the kernel, in microseconds.
    static func clock(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// The name of a unit in the path of its object: bytes other than letters and digits are `_` and two digits.
    static func label(_ name: String) -> String {
        var label = ""
        for (index, byte) in name.utf8.enumerated() {
            let isLetter = (97...122).contains(byte | 0x20)
            if isLetter || (index > 0 && (48...57).contains(byte)) {
                label.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16)
                label += "_" + (digits.utf8.count < 2 ? "0" : "") + digits
            }
        }
        return label
    }
}
