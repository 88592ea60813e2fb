// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// Starts runs in a PAM session: `timerd-session` opens it and starts the program.
extension Spawner {
    /// The paths at which `timerd-session` may be: where it is installed for programs in `bin`, or
    /// beside this program, as after a build. The file of this program may be replaced while it
    /// runs, so the paths are computed once.
    static let helpers: [String] = {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = String(
            decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[..<$0] } ?? ""
        return ["\(folder)/../libexec/timerd-session", "\(folder)/timerd-session"]
    }()

    /// Refuses a job with `pam-service` if this process is not root: only root can switch users and
    /// has the privileges that most PAM modules need.
    static func checkSession(_ definition: Definition) throws(Failure) {
        guard let service = definition.execution.pamService, geteuid() != 0 else { return }
        throw failure(
            EPERM,
            "open a session with the PAM service \(service): only the system's runner, which is root, can; remove "
                + "pam-service")
    }

    /// Starts `timerd-session` for this request; `socket` becomes the socket to which it reports.
    static func startSession(
        _ request: inout cspawn_request, _ service: String, _ account: Account,
        _ memory: CMemory, socket: inout Int32?
    ) -> cspawn_result {
        var session = cspawn_session(
            helpers: UnsafeMutableRawPointer(memory.strings(helpers))
                .assumingMemoryBound(to: UnsafePointer<CChar>?.self),
            service: memory.string(service), user: memory.string(account.name))
        var descriptor: Int32 = -1
        let result = cspawn_start_session(&request, &session, &descriptor)
        socket = descriptor < 0 ? nil : descriptor
        return result
    }

    // MARK: - Errors

    /// The outcome for a run whose `timerd-session` reported that a step failed.
    static func failure(
        _ report: cspawn_report, of definition: Definition, _ account: Account
    ) -> Failure {
        let service = definition.execution.pamService ?? ""
        let what: String
        switch report.failure.step {
        case CSPAWN_STEP_PAM_SERVICE:
            return failure(
                ENOENT,
                "find the PAM service \(service): neither /etc/pam.d/\(service) nor /usr/lib/pam.d/\(service) "
                    + "exists; create it or change pam-service")
        case CSPAWN_STEP_PAM_START: what = "start the PAM service \(service) for \(account.name)"
        case CSPAWN_STEP_PAM_ACCOUNT:
            what = "check the account \(account.name) with the PAM service \(service)"
        case CSPAWN_STEP_PAM_CREDENTIALS:
            what = "set the credentials of \(account.name) with the PAM service \(service)"
        case CSPAWN_STEP_PAM_SESSION:
            what = "open a session of \(account.name) with the PAM service \(service)"
        default: return failure(report.failure, of: definition, account)
        }
        let name = text(of: report.name)
        return Failure(
            outcome: .spawnFailed(errno: name, what: "\(what): \(text(of: report.text))"))
    }

    /// A text of a fixed size from a PAM module: control characters become spaces, because they
    /// could control a terminal.
    private static func text<Bytes>(of bytes: Bytes) -> String {
        let text = withUnsafeBytes(of: bytes) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let scalars = text.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control ? " " : scalar
        }
        var view = String.UnicodeScalarView(scalars)
        while view.last == " " { view.removeLast() }
        return String(view)
    }

    /// The outcome for a run whose `timerd-session` did not start.
    static func helperFailure(_ failure: cspawn_failure) -> Failure {
        let step = failure.step == CSPAWN_STEP_EXEC ? "exec" : "set up"
        return Self.failure(
            failure.error,
            "\(step) timerd-session, which opens PAM sessions, in \(helpers[0]): install timerd again"
        )
    }

    /// The outcome for a run whose `timerd-session` ended and did not report why.
    static func helperEnded(_ definition: Definition) -> Failure {
        failure(
            ECHILD,
            "open a session with the PAM service \(definition.execution.pamService ?? ""): timerd-session ended; "
                + "see the system log for what a PAM module says")
    }

    /// The outcome for a run whose PAM modules took too long.
    static func sessionTooLate(_ definition: Definition, _ account: Account) -> Failure {
        failure(
            ETIMEDOUT,
            "open a session of \(account.name) with the PAM service \(definition.execution.pamService ?? "") within "
                + "\(timeout.components.seconds) seconds")
    }

    static func describeHelper(_ failure: cspawn_failure) -> String {
        failure.error == EPROTO
            ? "pass the run to timerd-session, which is of another version: restart timerd-runner"
            : "pass the run to timerd-session"
    }
}
