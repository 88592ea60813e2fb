// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner

/// What conditions ask of the machine, without their command.
@Suite struct MachineStateTests {
    /// Folders in place of /proc and /sys, removed with the value.
    private final class Machine {
        let folder = "/tmp/timerd-machine-\(UUID().uuidString)"

        init(_ files: [String: String]) throws {
            for (path, text) in files {
                let url = URL(fileURLWithPath: "\(folder)/\(path)")
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: url)
            }
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func state(_ addresses: [InterfaceAddress] = []) -> MachineState {
            MachineState(
                proc: "\(folder)/proc", sys: "\(folder)/sys", addresses: { addresses })
        }
    }

    private static func condition(_ change: (inout Condition) -> Void) -> Condition {
        var condition = Condition()
        change(&condition)
        return condition
    }

    // MARK: - Paths

    @Test func pathsExistOrNot() throws {
        let machine = try Machine(["file": ""])
        let state = machine.state()
        func answer(_ path: String, isNegated: Bool = false) -> Condition.Answer {
            state.answer(
                to: Self.condition { $0.pathExists = [.init(path, isNegated: isNegated)] })
        }
        let (file, none) = ("\(machine.folder)/file", "\(machine.folder)/none")
        symlink(none, "\(machine.folder)/broken")
        #expect(answer(file) == .yes && answer(none, isNegated: true) == .yes)
        #expect(answer(none) == .no("path-exists \(none)"))
        #expect(answer(file, isNegated: true) == .no("path-exists !\(file)"))
        #expect(answer("\(file)/below") == .no("path-exists \(file)/below"))
        #expect(answer("\(machine.folder)/broken") == .no("path-exists \(machine.folder)/broken"))
        let long = "/" + String(repeating: "x", count: 300)
        #expect(answer(long) == .no("path-exists \(long)"))
    }

    @Test func mountPointsAreThoseOfTheTable() throws {
        let table = """
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
            40 22 0:36 / /mnt/back\\040up rw,relatime shared:9 - btrfs /dev/sdb rw
            41 22 0:37 / /net/auto rw - autofs systemd-1 rw
            42 22 0:38 / /net/both rw - autofs systemd-1 rw
            43 42 0:39 / /net/both rw - nfs4 server:/x rw
            not a line

            """
        let machine = try Machine(["proc/self/mountinfo": table])
        func answer(_ path: String, isNegated: Bool = false) -> Condition.Answer {
            machine.state().answer(
                to: Self.condition { $0.mounted = [.init(path, isNegated: isNegated)] })
        }
        for path in ["/", "/mnt/back up", "/mnt//back up/", "/net/both"] {
            #expect(answer(path) == .yes, "\(path)")
            #expect(answer(path, isNegated: true) == .no("mounted !\(path)"))
        }
        for path in ["/mnt", "/net/auto", "/mnt/back"] {
            #expect(answer(path) == .no("mounted \(path)"))
        }
        // A link to a mount point is one.
        symlink("/", "\(machine.folder)/link")
        #expect(answer("\(machine.folder)/link") == .yes)
    }

    @Test func theRealMountTableHasTheRoot() {
        let state = MachineState()
        #expect(state.answer(to: Self.condition { $0.mounted = [.init("/proc")] }) == .yes)
        #expect(state.answer(to: Self.condition { $0.loadBelow = 100_000 }) == .yes)
    }

    @Test func withoutTheTableTheCheckFails() throws {
        let machine = try Machine(["other": ""])
        let answer = machine.state().answer(to: Self.condition { $0.mounted = [.init("/")] })
        guard case .failed("EIO", let why) = answer else {
            return #expect(Bool(false), "\(answer)")
        }
        #expect(why.hasPrefix("mounted /: "))
    }

    // MARK: - Power

    /// The same verdicts as those of systemd.
    @Test(
        arguments: [
            ([:], true),
            (["AC/type": "Mains", "AC/online": "1", "BAT0/type": "Battery"], true),
            (
                [
                    "AC/type": "Mains", "AC/online": "0", "BAT0/type": "Battery",
                    "BAT0/status": "Discharging", "BAT0/present": "1",
                ], false
            ),
            (
                [
                    "AC/type": "Mains", "AC/online": "0", "BAT0/type": "Battery",
                    "BAT0/status": "Full",
                ], true
            ),
            (["AC/type": "Mains", "AC/online": "0"], true),
            (
                [
                    "hid/type": "Battery", "hid/scope": "Device", "hid/status": "Discharging",
                ], true
            ),
            (["BAT0/type": "Battery", "BAT0/present": "0", "BAT0/status": "Discharging"], true),
            (["BAT0/type": "Battery"], false),
            (["usb/type": "USB", "usb/online": "2", "BAT0/type": "Battery"], true),
            (
                [
                    "usb/type": "USB", "usb/online": "1",
                    "usb/device/typec/port0/power_role": "[source] sink", "BAT0/type": "Battery",
                ], false
            ),
            (
                [
                    "usb/type": "USB", "usb/online": "1",
                    "usb/device/typec/port0/power_role": "source [sink]", "BAT0/type": "Battery",
                ], true
            ),
        ] as [([String: String], Bool)])
    func powerIsAsSystemdJudgesIt(files: [String: String], isOnline: Bool) throws {
        let machine = try Machine(
            Dictionary(
                uniqueKeysWithValues: files.map {
                    ("sys/class/power_supply/\($0.key)", $0.value + "\n")
                }))
        let state = machine.state()
        let answers = [true, false].map { wanted in
            state.answer(to: Self.condition { $0.acPower = wanted })
        }
        #expect(
            answers == (isOnline ? [.yes, .no("ac-power false")] : [.no("ac-power"), .yes]))
    }

    // MARK: - Network

    private static let v4 = """
        Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
        eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
        eth0\t0002A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0

        """
    private static let v6 = """
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo

        """

    private static func address(
        _ family: InterfaceAddress.Family, on interface: String = "eth0", isGlobal: Bool = true,
        isUp: Bool = true
    ) -> InterfaceAddress {
        InterfaceAddress(interface: interface, family: family, isGlobal: isGlobal, isUp: isUp)
    }

    @Test func onlineIsADefaultRouteAndAnAddressForIt() {
        func isOnline(_ v4: String, _ v6: String, _ addresses: InterfaceAddress...) -> Bool {
            Network(v4: v4, v6: v6, addresses: addresses).isOnline
        }
        #expect(isOnline(Self.v4, "", Self.address(.v4)))
        #expect(isOnline("", Self.v6, Self.address(.v6)))
        // The address may be on another interface, as with a tunnel.
        #expect(
            isOnline(
                Self.v4, "", Self.address(.v4, isGlobal: false), Self.address(.v4, on: "dummy0")))
        for (v4, v6, addresses) in [
            ("", "", [Self.address(.v4)]), (Self.v4, "", [Self.address(.v6)]),
            (Self.v4, "", [Self.address(.v4, isGlobal: false)]),
            (Self.v4, "", [Self.address(.v4, isUp: false)]),
            (Self.v4, "", [Self.address(.v4, on: "lo", isGlobal: false)]), (Self.v4, "", []),
            (Self.v4.replacing("\t0003\t", with: "\t0203\t"), "", [Self.address(.v4)]),
            (
                Self.v4.replacing("\t00000000\t0102A8C0", with: "\t00000001\t0102A8C0"), "",
                [Self.address(.v4)]
            ),
            ("", String(Self.v6.split(separator: "\n")[1]), [Self.address(.v6, on: "lo")]),
        ] as [(String, String, [InterfaceAddress])] {
            #expect(!Network(v4: v4, v6: v6, addresses: addresses).isOnline)
        }
    }

    @Test func addressesOfTheLinkAreNoneOfTheNetwork() {
        #expect(
            InterfaceAddress.isGlobal(v4: 0xc0a8_0001) && InterfaceAddress.isGlobal(v4: 0x0a00_0001)
        )
        #expect(
            !InterfaceAddress.isGlobal(v4: 0x7f00_0001)
                && !InterfaceAddress.isGlobal(v4: 0xa9fe_0102))
        func v6(_ first: [UInt8], last: UInt8 = 1) -> [UInt8] {
            first + [UInt8](repeating: 0, count: 15 - first.count) + [last]
        }
        #expect(
            InterfaceAddress.isGlobal(v6: v6([0x20, 0x01]))
                && InterfaceAddress.isGlobal(v6: v6([0xfd])))
        #expect(
            !InterfaceAddress.isGlobal(v6: v6([0xfe, 0x80]))
                && !InterfaceAddress.isGlobal(v6: v6([])))
        // The machine of the test has at least its own address.
        #expect(InterfaceAddress.all().contains { $0.interface == "lo" && !$0.isGlobal })
    }

    // MARK: - Load, and the order

    @Test func theLoadMustBeBelowTheLimit() throws {
        let machine = try Machine(["proc/loadavg": "3.99 1.00 0.50 2/300 4711\n"])
        let state = machine.state()
        #expect(state.answer(to: Self.condition { $0.loadBelow = 4 }) == .yes)
        #expect(
            state.answer(to: Self.condition { $0.loadBelow = 3.99 }) == .no("load-below 3.99"))
    }

    @Test func aPathIsNotLookedAtIfItsFileSystemIsNotMounted() throws {
        let machine = try Machine([
            "proc/self/mountinfo": "22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
        ])
        let condition = Self.condition {
            $0.mounted = [.init("/mnt/none")]
            $0.pathExists = [.init("/mnt/none/data")]
        }
        #expect(machine.state().answer(to: condition) == .no("mounted /mnt/none"))
    }
}
