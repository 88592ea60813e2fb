// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// The privileges of the processes of a job according to the kernel.
@Suite struct ConfinementTests {
    /// The lines of `/proc/self/status` that start with one of these names, by their names.
    private func status(of fixture: RunnerFixture, _ execution: (inout Execution) -> Void)
        -> [String: String]
    {
        let request = fixture.request(
            .arguments(["grep", "-E", "^(Cap|NoNewPrivs)", "/proc/self/status"]), in: "/", execution
        )
        let end = fixture.run(request)
        #expect(end.outcome == .exited(0))
        return Dictionary(
            end.lines.map { line in
                let parts = line.split(separator: ":\t")
                return (String(parts[0]), String(parts.last ?? ""))
            }
        ) { $1 }
    }

    func set(_ names: [String]) -> CapabilitySet {
        var set = CapabilitySet()
        for name in names {
            let isKnown = set.insert(name)
            #expect(isKnown)
        }
        return set
    }

    @Test(arguments: geteuid() == 0 ? [nil, "nobody"] : [nil])
    func noNewPrivilegesIsSet_whereItIsDeclared(user: String?) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let own = ProcFile.text("/proc/self/status")?.contains("NoNewPrivs:\t1") == true
        for isDeclared in [false, true] {
            let found = status(of: fixture) {
                $0.user = user
                $0.confinement.noNewPrivileges = isDeclared
            }
            #expect(found["NoNewPrivs"] == (isDeclared || own ? "1" : "0"))
        }
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root has capabilities to give"),
        arguments: [nil, "root", "nobody"],
        [
            [], ["CAP_NET_BIND_SERVICE"], ["CAP_CHOWN", "CAP_KILL", "CAP_CHECKPOINT_RESTORE"],
            CapabilitySet.names,
        ])
    func aRunHasExactlyTheCapabilitiesThatAreListed(user: String?, names: [String]) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let own = try #require(Self.permitted)
        let wanted = set(names.filter { own & set([$0]).bits != 0 })
        let found = status(of: fixture) {
            $0.user = user
            $0.confinement.capabilities = wanted
            $0.confinement.noNewPrivileges = names.count == 1
        }
        for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            #expect(found[name].flatMap { UInt64($0, radix: 16) } == wanted.bits, "\(name)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func withoutTheKeyTheBoundingSetIsTheRunners() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        for user in [nil, "nobody"] {
            let found = status(of: fixture) { $0.user = user }
            #expect(
                found["CapBnd"] == Self.line("CapBnd") && found["CapAmb"] == Self.line("CapAmb"))
            #expect(
                found["CapEff"].flatMap { UInt64($0, radix: 16) }
                    == (user == nil ? Self.permitted : 0))
        }
    }

    private static func line(_ name: String) -> String? {
        ProcFile.text("/proc/self/status").flatMap { text in
            ProcFile.lines(of: text).first { $0.hasPrefix("\(name):") }.map {
                String($0.dropFirst(name.count + 2))
            }
        }
    }

    private static var permitted: UInt64? { line("CapPrm").flatMap { UInt64($0, radix: 16) } }

    /// A runner in a container may have fewer than all.
    @Test(.enabled(if: geteuid() == 0, "only root has capabilities to lose"))
    func aCapabilityThatTheRunnerDoesNotHaveIsNamed() async {
        await #expect(processExitsWith: .success) {
            // PR_CAPBSET_DROP, CAP_SYS_TIME.
            #expect(Native.prctl(24, 25) == 0)
            let fixture = try RunnerFixture()
            defer { fixture.runner.shutdown(grace: .zero) }
            for user in [nil, "nobody"] {
                let end = fixture.shell("exit 3") {
                    var wanted = CapabilitySet()
                    _ = wanted.insert("CAP_CHOWN") && wanted.insert("CAP_SYS_TIME")
                    $0.user = user
                    $0.confinement.capabilities = wanted
                }
                #expect(
                    end.outcome.description
                        == "spawn-failed(EPERM, keep the capability CAP_SYS_TIME, which the runner "
                        + "itself does not have)")
            }
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may"))
    func withoutThePrivilegeToLimitCapabilitiesARunFails() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let end = fixture.shell("exit 3") { $0.confinement.capabilities = CapabilitySet() }
        #expect(end.outcome.description == "spawn-failed(EPERM, limit the capabilities)")
    }

    /// If the module, or a profile or context of that name, does not exist, a run only starts if
    /// the label is optional.
    @Test(arguments: ["AppArmor profile", "SELinux context"])
    func aLabelThatCannotBeSetFailsTheRun_unlessItIsOptional(what: String) throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let isAppArmor = what == "AppArmor profile"
        let name = isAppArmor ? "no-such-profile" : "no_u:no_r:no_such_t"
        let module = isAppArmor ? "AppArmor" : "SELinux"
        let isEnabled =
            isAppArmor
            ? ProcFile.text("/sys/module/apparmor/parameters/enabled")?.hasPrefix("Y") == true
            : ProcFile.text("/proc/filesystems")?.contains("selinuxfs") == true
        for user in geteuid() == 0 ? [nil, "nobody"] : [nil] {
            func outcome(_ name: String) -> RunOutcome {
                let request = fixture.request(.shell("exit 3"), in: "/") {
                    $0.user = user
                    if isAppArmor {
                        $0.confinement.appArmorProfile = name
                    } else {
                        $0.confinement.seLinuxContext = name
                    }
                }
                return fixture.run(request).outcome
            }
            let failure = outcome(name).description
            if isEnabled {
                #expect(
                    failure.hasPrefix("spawn-failed(E")
                        && failure.contains(", set the \(what) \"\(name)\""), "\(failure)")
            } else {
                #expect(
                    failure
                        == "spawn-failed(EOPNOTSUPP, set the \(what) \"\(name)\": \(module) is not "
                        + "enabled on this system; with - in front it is optional)")
            }
            #expect(outcome("-\(name)") == .exited(3))
        }
    }

    /// Uses ordinary files in place of the files of a security module.
    @Test func theProcessWritesItsLabelsBeforeItsProgramRuns() throws {
        let folder = "/tmp/timerd-labels-\(UUID().uuidString)"
        mkdir(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["a", "b"] {
            #expect(FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: nil))
        }
        let missing = "\(folder)/missing"
        #expect(
            launch([("\(folder)/a", "exec one", false), ("\(folder)/b", "two", true)]).step
                == CSPAWN_STEP_NONE)
        #expect(try String(contentsOfFile: "\(folder)/a", encoding: .utf8) == "exec one")
        #expect(try String(contentsOfFile: "\(folder)/b", encoding: .utf8) == "two")
        #expect(launch([(missing, "one", true)]).step == CSPAWN_STEP_NONE)
        let failure = launch([("\(folder)/a", "1", false), (missing, "2", false)])
        #expect(
            failure.step == CSPAWN_STEP_LABEL && failure.error == EOPNOTSUPP && failure.item == 1)
        let full = launch([("/dev/full", "3", false)])
        #expect(full.step == CSPAWN_STEP_LABEL && full.error == ENOSPC && full.item == 0)
    }

    /// Starts `true` with these labels, and waits for its end.
    private func launch(_ labels: [(file: String, text: String, isOptional: Bool)])
        -> cspawn_failure
    {
        var texts = ["/bin/true"]
        for label in labels { texts += [label.file, label.text] }
        let strings = texts.map { strdup($0) }
        defer { for string in strings { free(string) } }
        let list = labels.enumerated().map { index, label in
            cspawn_label(
                file: UnsafePointer(strings[1 + 2 * index]!),
                text: UnsafePointer(strings[2 + 2 * index]!),
                length: label.text.utf8.count, is_optional: label.isOptional)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = [strings[0], nil]
        let candidates: [UnsafePointer<CChar>?] = [UnsafePointer(strings[0]), nil]
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nothing) }
        let result = list.withUnsafeBufferPointer { list in
            candidates.withUnsafeBufferPointer { candidates in
                arguments.withUnsafeMutableBufferPointer { arguments in
                    "/".withCString { root in
                        // All other fields are 0 or false.
                        let request = calloc(1, MemoryLayout<cspawn_request>.size)!
                            .assumingMemoryBound(to: cspawn_request.self)
                        defer { free(request) }
                        request.pointee.candidates = candidates.baseAddress!
                        request.pointee.arguments = UnsafePointer(arguments.baseAddress!)
                        request.pointee.environment = UnsafePointer(arguments.baseAddress! + 1)
                        request.pointee.directory = root
                        request.pointee.input = nothing
                        request.pointee.output = nothing
                        request.pointee.error = nothing
                        request.pointee.open_files = 1024
                        request.pointee.labels = list.baseAddress
                        request.pointee.label_count = Int32(list.count)
                        request.pointee.control_group = -1
                        request.pointee.record_file = -1
                        request.pointee.wants_pidfd = true
                        return cspawn_start(request)
                    }
                }
            }
        }
        #expect(result.step == CSPAWN_STEP_NONE)
        var failure = cspawn_failure()
        var ending = pollfd(fd: result.pidfd, events: Int16(POLLIN), revents: 0)
        #expect(poll(&ending, 1, 60_000) == 1)
        #expect(cspawn_poll_launch(result.launch, &failure) == CSPAWN_IS_OVER)
        cspawn_release_launch(result.launch)
        var end = cspawn_end()
        #expect(cspawn_reap(result.pidfd, &end) == 1)
        close(result.pidfd)
        return failure
    }

    /// Only a PAM module sets it: the audit records of a service's runs contain no login user.
    @Test(.enabled(if: access("/proc/self/loginuid", R_OK) == 0, "no audit in this kernel"))
    func theLoginUIDIsThatOfTheRunner() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let own = try #require(ProcFile.text("/proc/self/loginuid"))
        for user in geteuid() == 0 ? [nil, "nobody"] : [nil] {
            let request = fixture.request(.arguments(["cat", "/proc/self/loginuid"]), in: "/") {
                $0.user = user
            }
            #expect(fixture.run(request).lines == [own])
        }
    }

    // MARK: - Users
}
