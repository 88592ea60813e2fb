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
        let path = try property("FragmentPath", of: unit.description)
        guard start != .static || !path.hasPrefix("/etc/") else {
            throw SwitchFault(
                "\(path) has no [Install], and systemd masks only units of packages; add WantedBy=timers.target"
            )
        }
        return start
    }

    static func property(_ name: String, of unit: String) throws(SwitchFault) -> String {
        let output = try Tool.done(["systemctl", "show", "--value", "-p", name, "--", unit])
        return String(decoding: output.prefix { $0 != 10 }, as: UTF8.self)
    }

    // MARK: - Changes

    /// Switches it off until the next boot, at once. `keepOff` follows, which takes longer.
    func stop() throws(SwitchFault) {
        try Tool.done(["systemctl", "stop", "--", unit.description])
    }

    /// Keeps a timer that is off from being started at the next boot. If it is not reached, the next boot switches the
    /// timer on again, and the guards see that.
    ///
    /// It is not done first: systemd fails a timer that is masked while it is active, and loses its next run.
    func keepOff() throws(SwitchFault) {
        let state = try Self.property("UnitFileState", of: unit.description)
        switch state {
        case "enabled": try Tool.done(["systemctl", "disable", "--", unit.description])
        case "static": try Tool.done(["systemctl", "mask", "--", unit.description])
        default: break
        }
    }

    /// Makes the next boot start a timer that is off. `startUnit` follows.
    func prepareOn() throws(SwitchFault) {
        switch start {
        case .enabled: try Tool.done(["systemctl", "enable", "--", unit.description])
        case .static: try Tool.done(["systemctl", "unmask", "--", unit.description])
        case .disabled: break
        }
    }

    /// Switches it on at once.
    func startUnit() throws(SwitchFault) {
        // With Persistent=true, systemd would catch up what timerd ran.
        utimensat(AT_FDCWD, "/var/lib/systemd/timers/stamp-\(unit)", nil, AT_SYMLINK_NOFOLLOW)
        try Tool.done(["systemctl", "start", "--", unit.description])
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
