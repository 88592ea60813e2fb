// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore

/// A security context or profile for a program. A process writes it to one of its own files in
/// /proc right before it executes the program (proc(5), attr).
struct SecurityLabel {
    var file: String
    var text: String
    /// Whether the program still runs if it cannot be set.
    var isOptional: Bool
    /// What setting it is called in an error.
    private var what: String
    /// The name of the security module that it belongs to.
    private var module: String
    /// Whether the kernel uses that module.
    private var isEnabled: @Sendable () -> Bool

    /// The labels that a definition declares, in the order in which they are set.
    static func all(of confinement: Confinement) -> [Self] {
        var labels: [Self] = []
        if let context = confinement.seLinuxContext {
            labels.append(
                Self(
                    "/proc/self/attr/exec", context, "", "the SELinux context", "SELinux",
                    isEnabled: hasSELinux))
        }
        if let profile = confinement.appArmorProfile {
            labels.append(
                Self(
                    "/proc/self/attr/apparmor/exec", profile, "exec ", "the AppArmor profile",
                    "AppArmor", isEnabled: hasAppArmor))
        }
        return labels
    }

    private init(
        _ file: String, _ configured: String, _ prefix: String, _ what: String, _ module: String,
        isEnabled: @escaping @Sendable () -> Bool
    ) {
        self.file = file
        isOptional = configured.utf8.first == UInt8(ascii: "-")
        let name = isOptional ? String(configured.unicodeScalars.dropFirst()) : configured
        text = prefix + name
        self.what = "set \(what) \(name.debugDescription)"
        self.module = module
        self.isEnabled = isEnabled
    }

    /// The error for a run whose label cannot be set.
    func failure(_ code: Int32) -> Spawner.Failure {
        // A module that is built into the kernel and not enabled returns EINVAL for any write.
        guard code == EOPNOTSUPP || code == EINVAL, !isEnabled() else {
            return Spawner.failure(code, what)
        }
        return Spawner.failure(
            EOPNOTSUPP,
            "\(what): \(module) is not enabled on this system; with - in front it is optional")
    }

    @Sendable private static func hasAppArmor() -> Bool {
        ProcFile.text("/sys/module/apparmor/parameters/enabled")?.utf8.first == UInt8(ascii: "Y")
    }

    @Sendable private static func hasSELinux() -> Bool {
        guard let text = ProcFile.text("/proc/filesystems") else { return false }
        return ProcFile.lines(of: text).contains { $0 == "nodev\tselinuxfs" }
    }
}
