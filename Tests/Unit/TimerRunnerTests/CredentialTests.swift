// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing
import TimerCore

@testable import TimerRunner
@testable import TimerRunnerProtocol

/// Secrets that a run gets as files.
@Suite struct CredentialTests {
    /// A directory for credentials, with the original files beside it.
    private final class Vault {
        let folder = "/tmp/timerd-vault-\(UUID().uuidString)"
        var store: String { "\(folder)/store" }
        let fixture: RunnerFixture

        init() throws {
            mkdir(folder, 0o755)
            mkdir("\(folder)/store", 0o711)
            chmod("\(folder)/store", 0o711)
            var options = Runner.Options()
            options.credentials = "\(folder)/store"
            fixture = try RunnerFixture(options: options)
        }

        deinit {
            fixture.runner.shutdown(grace: .zero)
            try? FileManager.default.removeItem(atPath: folder)
        }

        /// Creates a file that only its owner can read, and returns its path.
        func file(_ name: String, _ bytes: [UInt8]) -> String {
            let path = "\(folder)/\(name)"
            #expect(FileManager.default.createFile(atPath: path, contents: Data(bytes)))
            chmod(path, 0o600)
            return path
        }

        func run(_ line: String, user: String? = nil, _ credentials: [String: String])
            -> RunnerFixture.End
        {
            fixture.run(request(line, user: user, credentials))
        }

        func request(
            _ line: String, user: String? = nil, _ credentials: [String: String]
        ) -> RunRequest {
            fixture.request(.shell(line), in: "/") {
                $0.user = user
                $0.credentials = credentials
            }
        }

        /// The contents of the credential directory of all runs.
        var left: [String] { (try? FileManager.default.contentsOfDirectory(atPath: store)) ?? [] }
    }

    private static let users = geteuid() == 0 ? [nil, "root", "nobody"] : [nil]

    @Test(arguments: users)
    func aRunHasCopies_whichAreRemovedWithIt(user: String?) throws {
        let vault = try Vault()
        let token = vault.file("token", Array("secret\n".utf8))
        let empty = vault.file("empty", [])
        let request = vault.request(
            "cd \"$CREDENTIALS_DIRECTORY\" && pwd && ls && cat token && stat -c %s empty",
            user: user,
            ["token": token, "empty": empty])
        let end = vault.fixture.run(request)
        let path = "\(vault.store)/\(request.id)"
        #expect(end.outcome == .exited(0), "\(end.errors)")
        #expect(end.lines == [path, "empty", "token", "secret", "0"])
        #expect(vault.left.isEmpty)
    }

    @Test func aRunWithoutCredentialsHasNoDirectory() throws {
        let vault = try Vault()
        #expect(vault.run("echo \"${CREDENTIALS_DIRECTORY-none}\"", [:]).lines == ["none"])
        #expect(vault.left.isEmpty)
    }

    /// No other user can read it, and its user can neither add a file nor change one, because that
    /// would use memory of the machine.
    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func onlyTheUserCanReadThem() throws {
        let vault = try Vault()
        let token = vault.file("token", Array("secret\n".utf8))
        let request = vault.request(
            """
            cd "$CREDENTIALS_DIRECTORY" || exit 1
            (echo x > new) 2>/dev/null && echo added
            rm -f token 2>/dev/null && echo removed
            (echo x >> token) 2>/dev/null && echo changed
            chmod 700 . 2>/dev/null && echo opened
            chmod 600 token 2>/dev/null && echo loosened
            echo ready; exec sleep 300
            """, user: "nobody", ["token": token])
        vault.fixture.runner.start([request])
        vault.fixture.wait(forLine: "ready")
        let path = "\(vault.store)/\(request.id)"
        var status = stat()
        #expect(stat("\(path)/token", &status) == 0)
        let hasLists = status.st_uid == 0
        #expect(
            vault.fixture.lines(of: request) == (hasLists ? ["ready"] : ["loosened", "ready"]))
        let other = vault.run("cat \(path)/token || ls \(path)", user: "daemon", [:])
        #expect(other.outcome != .exited(0) || !hasLists)
        #expect(!other.lines.contains("secret"))
        vault.fixture.runner.end(request.id, grace: .zero)
        #expect(vault.fixture.end(of: request).outcome == .stopped)
        #expect(vault.left.isEmpty)
    }

    /// ramfs has no access control lists.
    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func withoutAccessControlListsTheUserOwnsTheFiles() throws {
        let vault = try Vault()
        guard Native.mount("none", vault.store, "ramfs", 0, "mode=711") == 0 else {
            return  // A container may forbid it.
        }
        defer { Native.detach(vault.store) }
        // The directory that is open is hidden by the mount.
        var store = try CredentialStore(at: vault.store)
        defer { store.close() }
        chmod(vault.store, 0o711)
        let account = try Account.resolve(user: "nobody", group: nil, current: .current())
        let request = vault.request("true", [:])
        let path = try store.add(
            [Credential(name: "token", bytes: [1, 2])], of: request.id, for: account.identity)
        var status = stat()
        #expect(stat("\(path)/token", &status) == 0)
        #expect(status.st_uid == account.identity?.user && status.st_mode & 0o777 == 0o400)
        #expect(stat(path, &status) == 0 && status.st_uid == 0 && status.st_mode & 0o222 == 0)
        store.remove(request.id)
        #expect(vault.left.isEmpty)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount"))
    func aFullFileSystemFailsTheRun_andLeavesNothing() throws {
        let vault = try Vault()
        guard Native.mount("none", vault.store, "tmpfs", 0, "size=64k,mode=711") == 0 else {
            return  // A container may forbid it.
        }
        defer { Native.detach(vault.store) }
        var store = try CredentialStore(at: vault.store)
        defer { store.close() }
        let run = vault.request("true", [:]).id
        let credentials = [
            Credential(name: "a", bytes: [1]),
            Credential(name: "b", bytes: [UInt8](repeating: 1, count: 1 << 20)),
        ]
        for _ in 0..<2 {
            do throws(Spawner.Failure) {
                _ = try store.add(credentials, of: run, for: nil)
                Issue.record("there was room")
            } catch {
                #expect(
                    error.outcome.description == "spawn-failed(ENOSPC, write the credential b)")
            }
            #expect(vault.left.isEmpty)
        }
        _ = try store.add([credentials[0]], of: run, for: nil)
        #expect(vault.left.count == 1)
    }

    @Test func anUnreadableFileFailsTheRun_andLeavesNothing() throws {
        let vault = try Vault()
        let good = vault.file("good", [1])
        symlink(good, "\(vault.folder)/link")
        mkfifo("\(vault.folder)/fifo", 0o600)
        let open = vault.file("open", [1])
        chmod(open, 0o620)
        let named = vault.file("named", [1])
        link(named, "\(vault.folder)/named-again")
        let most = vault.file("most", [UInt8](repeating: 7, count: 1 << 20))
        let more = vault.file("more", [UInt8](repeating: 7, count: (1 << 20) + 1))
        let folder = vault.folder
        let cases: [([String: String], String)] = [
            (["a": "\(folder)/none"], "ENOENT, read the credential a from \(folder)/none"),
            (
                ["a": "\(folder)/link"],
                "ELOOP, read the credential a from \(folder)/link, whose path has a symbolic link in it: name the file itself"
            ),
            (
                ["a": "\(folder)/fifo"],
                "EINVAL, read the credential a from \(folder)/fifo, which is not a regular file"
            ),
            (
                ["a": folder],
                "EINVAL, read the credential a from \(folder), which is not a regular file"
            ),
            (
                ["a": open],
                "EPERM, read the credential a from \(open), which others may write to: chmod go-w it"
            ),
            (
                ["a": named],
                "EPERM, read the credential a from \(named), which has 2 names (hard links): copy it"
            ),
            (
                ["a": more],
                "EFBIG, read the credential a from \(more), which has more than 1048576 bytes"
            ),
            (
                ["a": most, "b": good],
                "EFBIG, read the credential b from \(good): all credentials of a run have more than 1048576 bytes"
            ),
        ]
        for (credentials, failure) in cases {
            let end = vault.run("exit 3", credentials)
            #expect(end.outcome.description == "spawn-failed(\(failure))")
        }
        #expect(vault.run("wc -c < $CREDENTIALS_DIRECTORY/a", ["a": most]).lines == ["1048576"])
        #expect(vault.left.isEmpty)
    }

    @Test func aMissingProgramLeavesNothing() throws {
        let vault = try Vault()
        let token = vault.file("token", [1])
        let request = vault.fixture.request(.arguments(["/no/such/program"])) {
            $0.credentials = ["a": token]
        }
        #expect(
            vault.fixture.run(request).outcome.description
                == "spawn-failed(ENOENT, exec /no/such/program)")
        // This fails before a process is created.
        let other = vault.fixture.request(.arguments(["true", "\0"])) {
            $0.credentials = ["a": token]
        }
        #expect(vault.fixture.run(other).outcome.description.hasPrefix("spawn-failed(EINVAL"))
        #expect(vault.left.isEmpty)
    }

    @Test func withoutADirectoryForThemARunFails() throws {
        let fixture = try RunnerFixture()
        defer { fixture.runner.shutdown(grace: .zero) }
        let path = "/tmp/timerd-credential-\(UUID().uuidString)"
        defer { unlink(path) }
        #expect(FileManager.default.createFile(atPath: path, contents: Data("x".utf8)))
        chmod(path, 0o600)
        let end = fixture.shell("exit 3") { $0.credentials = ["a": path] }
        #expect(
            end.outcome.description
                == "spawn-failed(EOPNOTSUPP, provide credentials: this runner has no directory for them)"
                || end.outcome.description
                    == "spawn-failed(ENOTSUP, provide credentials: this runner has no directory for them)"
        )
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func aDirectoryThatTheUserCannotReachIsReported() throws {
        let vault = try Vault()
        let token = vault.file("token", [1])
        chmod(vault.store, 0o700)
        let end = vault.run("exit 3", user: "nobody", ["token": token])
        #expect(
            end.outcome.description.hasPrefix(
                "spawn-failed(EACCES, read credentials in \(vault.store) as uid 65534: "))
        #expect(vault.left.isEmpty)
    }

    /// A killed runner leaves credentials behind; those of active runs are still needed.
    @Test func credentialsOfAnEarlierRunnerAreRemoved_exceptForActiveRuns() throws {
        let vault = try Vault()
        let requests = (0..<3).map { _ in vault.request("true", [:]) }
        let credentials = [Credential(name: "a", bytes: [1]), Credential(name: "b", bytes: [])]
        var store = try CredentialStore(at: vault.store)
        for request in requests {
            _ = try store.add(credentials, of: request.id, for: nil)
        }
        store.close()
        #expect(vault.left.count == 3)
        mkdir("\(vault.store)/anything", 0o500)
        #expect(FileManager.default.createFile(atPath: "\(vault.store)/file", contents: Data()))
        var next = try CredentialStore(at: vault.store)
        defer { next.close() }
        next.clean(keeping: [requests[1].id])
        #expect(vault.left == [requests[1].id.description])
        next.remove(requests[0].id)
        #expect(vault.left.count == 1)
        next.remove(requests[1].id)
        #expect(vault.left.isEmpty)
        // As a runner does when it starts.
        _ = try next.add(credentials, of: requests[2].id, for: nil)
        var options = Runner.Options()
        options.credentials = vault.store
        let fixture = try RunnerFixture(options: options)
        fixture.runner.shutdown(grace: .zero)
        #expect(vault.left.isEmpty)
    }
}
