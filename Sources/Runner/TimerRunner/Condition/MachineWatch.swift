// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import TimerCore

/// Notices that parts of the machine change while conditions on them are checked, so that a run which
/// waits for one is checked again at once, and not only when its time has come. What is read here is
/// only a reason to check. Instants are of CLOCK_MONOTONIC, in nanoseconds.
struct MachineWatch {
    /// How long a part is watched after a condition on it was checked: longer than a run that waits is
    /// not checked.
    static let keptFor: Int64 = 90_000_000_000
    /// The time between two reports, so that what changes all the time costs little.
    static let interval: Int64 = 1_000_000_000

    private struct Watched {
        var part: MachineParts
        var source: ChangeSource
        var until: Int64
    }

    private let proc: String
    private var watched: [Watched] = []
    /// What has changed and is not reported.
    private var changed: MachineParts = []
    /// Before this instant nothing is reported.
    private var reportAt: Int64 = 0

    /// - Parameter proc: where procfs is mounted.
    init(proc: String) { self.proc = proc }

    /// When `take` may have something; nil if nothing is watched.
    var next: Int64? { changed.isEmpty ? watched.map(\.until).min() : reportAt }

    /// Watches these parts for a while. What the kernel refuses to tell is not watched: in a container
    /// that may be any of them.
    mutating func watch(_ parts: MachineParts, at now: Int64) {
        for part in [MachineParts.mounts, .network, .power] where parts.contains(part) {
            if let index = watched.firstIndex(where: { $0.part == part }) {
                watched[index].until = now + Self.keptFor
            } else if let source = ChangeSource(part, proc: proc) {
                watched.append(Watched(part: part, source: source, until: now + Self.keptFor))
            }
        }
    }

    /// What to poll: the parts of which no change waits to be reported.
    var polled: [pollfd] {
        watched.filter { !changed.contains($0.part) }.map { $0.source.polled }
    }

    /// Takes the result of poll(2).
    mutating func note(_ polled: some Sequence<pollfd>) {
        for one in polled where one.revents != 0 {
            guard let watched = watched.first(where: { $0.source.descriptor == one.fd }),
                watched.source.takeChange()
            else { continue }
            changed.insert(watched.part)
        }
    }

    /// Takes what has changed and may be reported, and forgets what was watched long enough.
    mutating func drain(at now: Int64) -> MachineParts {
        watched.removeAll { $0.until <= now }
        guard !changed.isEmpty, reportAt <= now else { return [] }
        // The checks that follow see what has happened until here.
        for one in watched where changed.contains(one.part) { _ = one.source.takeChange() }
        reportAt = now + Self.interval
        defer { changed = [] }
        return changed
    }
}

/// A descriptor by which the kernel says that a part of the machine has changed.
final class ChangeSource {
    /// The most messages that are read at a time; the next call reads on.
    private static let messagesMax = 256
    /// RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR and _IPV6_ROUTE, see rtnetlink(7).
    private static let networkGroups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
    /// NETLINK_ROUTE and NETLINK_KOBJECT_UEVENT, see netlink(7).
    private static let (routes, deviceEvents): (Int32, Int32) = (0, 15)

    let descriptor: Int32
    private let part: MachineParts

    /// Nil if the kernel refuses it, with errno set.
    ///
    /// - Parameter part: one part.
    init?(_ part: MachineParts, proc: String) {
        self.part = part
        descriptor =
            switch part {
            case .mounts: open("\(proc)/self/mountinfo", O_RDONLY | O_CLOEXEC)
            case .network: Self.netlink(Self.routes, groups: Self.networkGroups)
            default: Self.netlink(Self.deviceEvents, groups: 1)
            }
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    /// The table of mounts is always readable; a change of it is an exceptional condition (proc(5)).
    var polled: pollfd {
        let events = part == .mounts ? Int16(POLLPRI) : Int16(POLLIN)
        return pollfd(fd: descriptor, events: events, revents: 0)
    }

    /// Takes what the kernel says; true if that is a change of this part.
    func takeChange() -> Bool {
        // What poll(2) has reported once it does not report again.
        guard part != .mounts else {
            var one = polled
            _ = poll(&one, 1, 0)
            return true
        }
        var isChange = false
        var message = [UInt8](repeating: 0, count: 8 << 10)
        for _ in 0..<Self.messagesMax {
            let count = recv(descriptor, &message, message.count, Int32(MSG_DONTWAIT))
            if count > 0 {
                isChange = isChange || part != .power || Self.isOfPowerSupply(message[..<count])
            } else if count == 0 || errno != ENOBUFS {
                break
            } else {
                // Messages were lost, of which nothing is known.
                isChange = true
            }
        }
        return isChange
    }

    /// Whether a message about a device (`change@/devices/…`, then lines with a zero byte at their ends)
    /// is about a power supply.
    static func isOfPowerSupply(_ message: ArraySlice<UInt8>) -> Bool {
        message.split(separator: 0).contains { $0.elementsEqual("SUBSYSTEM=power_supply".utf8) }
    }

    /// A socket that gets the messages of these groups; negative with errno set if there is none.
    private static func netlink(_ protocol: Int32, groups: UInt32) -> Int32 {
        let kind = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_NETLINK, kind, `protocol`)
        guard descriptor >= 0 else { return descriptor }
        // struct sockaddr_nl: the family, two bytes, the port (0: any), the groups.
        var address = (UInt16(AF_NETLINK), UInt16(0), UInt32(0), groups)
        let length = socklen_t(MemoryLayout.size(ofValue: address))
        let isBound = withUnsafePointer(to: &address) {
            bind(descriptor, UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self), length)
        }
        guard isBound == 0 else {
            let code = errno
            close(descriptor)
            errno = code
            return -1
        }
        return descriptor
    }
}
