// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerCore

/// What a condition asks of the machine, except its command. A path may be on a file system that does
/// not answer, so this is read on a thread of its own (`ConditionThreads`).
struct MachineState: Sendable {
    /// Where the kernel's file systems are; other folders in tests.
    var proc = "/proc"
    var sys = "/sys"
    /// The addresses of the machine.
    var addresses: @Sendable () -> [InterfaceAddress] = InterfaceAddress.all

    /// Looks at everything up to the first thing that is not as it must be.
    func answer(to condition: Condition) -> Condition.Answer {
        for path in condition.mounted {
            let word = Condition.word(mounted: path)
            guard let mounts = MountTable(proc: proc) else { return unreadable(word) }
            if mounts.contains(path.path) == path.isNegated { return .no(word) }
        }
        for path in condition.pathExists {
            let word = Condition.word(pathExists: path)
            switch exists(path.path) {
            case .success(let exists): if exists == path.isNegated { return .no(word) }
            case .failure(let code): return .failed(errno: code.name, why: word)
            }
        }
        if let wanted = condition.acPower, PowerSupplies(sys: sys).isOnline != wanted {
            return .no(Condition.word(acPower: wanted))
        }
        if condition.networkOnline, !Network(proc: proc, addresses: addresses()).isOnline {
            return .no(Condition.networkWord)
        }
        if let limit = condition.loadBelow {
            let word = Condition.word(loadBelow: limit)
            guard let load else { return unreadable(word) }
            if load >= limit { return .no(word) }
        }
        return .yes
    }

    private struct ErrorCode: Error {
        var name: String
    }

    /// Whether there is something at a path, at the end of all symbolic links.
    private func exists(_ path: String) -> Result<Bool, ErrorCode> {
        guard access(path, F_OK) != 0 else { return .success(true) }
        switch errno {
        // A link that ends nowhere, or at itself, leads to nothing.
        case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG: return .success(false)
        case let code: return .failure(ErrorCode(name: Spawner.name(of: code)))
        }
    }

    /// The load average of the last minute; nil if it cannot be read.
    private var load: Double? {
        ProcFile.text("\(proc)/loadavg").flatMap { ProcFile.words(of: Substring($0)).first }
            .flatMap { Double($0) }
    }

    private func unreadable(_ word: String) -> Condition.Answer {
        .failed(errno: "EIO", why: "\(word): \(proc) cannot be read")
    }
}

/// The places where file systems are mounted, as this process sees them. To read them touches none of
/// these file systems.
struct MountTable {
    private let points: Set<String>

    /// Nil if the list cannot be read.
    init?(proc: String) {
        guard let text = ProcFile.text("\(proc)/self/mountinfo"), !text.isEmpty else { return nil }
        self.init(text)
    }

    /// - Parameter text: as in proc_pid_mountinfo(5).
    init(_ text: String) {
        var points: Set<String> = []
        for line in ProcFile.lines(of: text) {
            let words = ProcFile.words(of: line)
            guard words.count > 6, let separator = words.firstIndex(of: "-"),
                words.indices.contains(separator + 1)
            else { continue }
            // What mounts a file system at the first access is not that file system.
            guard words[separator + 1] != "autofs" else { continue }
            points.insert(words[4].withoutOctalEscapes)
        }
        self.points = points
    }

    /// Whether something is mounted at a path. Links in it are only followed if nothing is mounted at
    /// the path as it is written, because that may take any time.
    func contains(_ path: String) -> Bool {
        if points.contains(Self.normal(path)) { return true }
        guard let real = realpath(path, nil) else { return false }
        defer { free(real) }
        return points.contains(String(cString: real))
    }

    /// The path without repeated slashes, and without one at the end.
    private static func normal(_ path: String) -> String {
        "/" + path.split(separator: "/").joined(separator: "/")
    }
}

/// The power supplies of the machine (sysfs-class-power).
struct PowerSupplies {
    /// The folder of the supplies, and that of the ports of USB type C.
    private let folder: String

    init(sys: String) { folder = "\(sys)/class/power_supply" }

    /// Whether the machine is connected to power: a supply is online that is no battery, or no battery
    /// is being discharged. This is what systemd says too.
    var isOnline: Bool {
        var isDischarging = false
        for name in Self.names(in: folder) {
            switch value("type", of: name) {
            case nil: continue
            case "Battery"?: isDischarging = isDischarging || self.isDischarging(name)
            case "USB"? where !isSink(name): continue
            default:
                if let online = value("online", of: name).flatMap({ UInt($0) }), online > 0 {
                    return true
                }
            }
        }
        return !isDischarging
    }

    /// Whether the machine is running on this battery. Those of mice and keyboards do not matter.
    private func isDischarging(_ battery: String) -> Bool {
        guard value("scope", of: battery) != "Device", value("present", of: battery) != "0" else {
            return false
        }
        return value("status", of: battery).map { $0 == "Discharging" } ?? true
    }

    /// Whether the machine may get power over USB: unless each port of the supply gives power.
    private func isSink(_ supply: String) -> Bool {
        let ports = "\(folder)/\(supply)/device/typec"
        let roles = Self.names(in: ports).compactMap { Self.text("\(ports)/\($0)/power_role") }
        return roles.isEmpty || roles.contains { $0.contains("[sink]") }
            || !roles.contains { $0.contains("[source]") }
    }

    private func value(_ name: String, of supply: String) -> String? {
        Self.text("\(folder)/\(supply)/\(name)")
    }

    private static func text(_ path: String) -> String? {
        ProcFile.text(path).flatMap { ProcFile.lines(of: $0).first }.map(String.init)
    }

    private static func names(in folder: String) -> [String] {
        guard let listing = opendir(folder) else { return [] }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}

/// An address of an interface.
struct InterfaceAddress: Hashable, Sendable {
    enum Family: Hashable, Sendable { case v4, v6 }

    var interface: String
    var family: Family
    /// Whether other machines beyond the link can answer to it.
    var isGlobal: Bool
    /// Whether the interface is enabled and has a carrier.
    var isUp: Bool

    /// Those of the machine.
    @Sendable static func all() -> [Self] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: [Self] = []
        var next = first
        while let each = next {
            next = each.pointee.ifa_next
            guard let address = each.pointee.ifa_addr else { continue }
            let flags = each.pointee.ifa_flags
            let isUp = [IFF_UP, IFF_RUNNING].allSatisfy { flags & UInt32($0) != 0 }
            let name = String(cString: each.pointee.ifa_name)
            switch Int32(address.pointee.sa_family) {
            case AF_INET:
                let bytes = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt32(bigEndian: $0.pointee.sin_addr.s_addr)
                }
                found.append(
                    Self(interface: name, family: .v4, isGlobal: isGlobal(v4: bytes), isUp: isUp))
            case AF_INET6:
                let bytes = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    withUnsafeBytes(of: $0.pointee.sin6_addr) { Array($0) }
                }
                found.append(
                    Self(interface: name, family: .v6, isGlobal: isGlobal(v6: bytes), isUp: isUp))
            default: continue
            }
        }
        return found
    }

    /// Not that of the machine itself (127.0.0.0/8), nor one that it gave itself (169.254.0.0/16).
    static func isGlobal(v4 address: UInt32) -> Bool {
        address >> 24 != 127 && address >> 16 != 0xa9fe && address != 0
    }

    /// Neither `::1`, nor one of the link (`fe80::/10`).
    static func isGlobal(v6 bytes: [UInt8]) -> Bool {
        guard bytes.count == 16 else { return false }
        let isLocal = bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
        return !isLocal && !bytes.dropLast().allSatisfy { $0 == 0 }
    }
}

/// Whether the machine has a default route, and an address with which it can use that.
struct Network {
    private let routes: [(interface: String, family: InterfaceAddress.Family)]
    private let addresses: [InterfaceAddress]

    init(proc: String, addresses: [InterfaceAddress]) {
        self.init(
            v4: ProcFile.text("\(proc)/net/route") ?? "",
            v6: ProcFile.text("\(proc)/net/ipv6_route") ?? "", addresses: addresses)
    }

    /// - Parameters:
    ///   - v4: the routes as in `/proc/net/route`.
    ///   - v6: those in `/proc/net/ipv6_route`.
    init(v4: String, v6: String, addresses: [InterfaceAddress]) {
        routes =
            ProcFile.lines(of: v4).compactMap(Self.interface(v4:)).map { ($0, .v4) }
            + ProcFile.lines(of: v6).compactMap(Self.interface(v6:)).map { ($0, .v6) }
        self.addresses = addresses
    }

    var isOnline: Bool {
        routes.contains { route in
            addresses.contains { $0.interface == route.interface && $0.isUp }
                && addresses.contains {
                    $0.family == route.family && $0.isGlobal && $0.isUp
                }
        }
    }

    /// RTF_UP and RTF_REJECT: the route can be used, or all of its packets are refused.
    private static let (isUsable, isRefusal): (UInt32, UInt32) = (0x1, 0x200)

    /// The interface of a default route; nil of any other line.
    private static func interface(v4 line: Substring) -> String? {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard words.count >= 8, words[1] == "00000000", words[7] == "00000000",
            let flags = UInt32(words[3], radix: 16), mayUse(flags)
        else { return nil }
        return String(words[0])
    }

    private static func interface(v6 line: Substring) -> String? {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard words.count >= 10, words[0].allSatisfy({ $0 == "0" }), words[1] == "00",
            let flags = UInt32(words[8], radix: 16), mayUse(flags), words[9] != "lo"
        else { return nil }
        return String(words[9])
    }

    private static func mayUse(_ flags: UInt32) -> Bool {
        flags & isUsable != 0 && flags & isRefusal == 0
    }
}
