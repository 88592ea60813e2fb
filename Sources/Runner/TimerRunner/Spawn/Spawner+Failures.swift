// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CSpawn
import Glibc
import TimerCore
import TimerRunnerProtocol

/// The outcomes of runs whose processes could not be started.
extension Spawner {
    /// The outcome for a run whose process could not be created, or could not execute its program.
    static func failure(
        _ failure: cspawn_failure, of definition: Definition, _ account: Account
    ) -> Failure {
        if failure.step == CSPAWN_STEP_LABEL {
            let labels = SecurityLabel.all(of: definition.execution.confinement)
            let index = Int(failure.item)
            if labels.indices.contains(index) { return labels[index].failure(failure.error) }
        }
        return Self.failure(failure.error, describe(failure, definition, account))
    }

    /// The outcome for a run whose process took too long to execute its program.
    static func tooLate(_ definition: Definition, _ account: Account) -> Failure {
        let program = Program(definition.command, path: "").name
        return failure(
            ETIMEDOUT,
            "run \(program) within \(timeout.components.seconds) seconds in "
                + "\(definition.workingDirectory ?? account.home)")
    }

    /// The outcome for a run whose process could not be created.
    static func failure(_ code: Int32, _ what: String) -> Failure {
        Failure(outcome: .spawnFailed(errno: name(of: code), what: what), code: code)
    }

    /// The name of an errno, such as `ENOENT`.
    static func name(of code: Int32) -> String {
        cspawn_error_name(code).map { String(cString: $0) } ?? "errno \(code)"
    }

    private static func describe(
        _ failure: cspawn_failure, _ definition: Definition, _ account: Account
    ) -> String {
        switch failure.step {
        case CSPAWN_STEP_MEMORY: return "allocate memory for a start"
        case CSPAWN_STEP_CLONE:
            guard failure.error == EAGAIN else { return "clone" }
            return "clone: the service (TasksMax=) or the machine has as many processes as it may"
        case CSPAWN_STEP_RECORD: return "record the run"
        case CSPAWN_STEP_SESSION: return "setsid"
        case CSPAWN_STEP_SIGNALS: return "reset the signals"
        case CSPAWN_STEP_NICE: return "set the nice value \(definition.execution.nice)"
        case CSPAWN_STEP_INPUT: return "provide the standard input"
        case CSPAWN_STEP_IO_PRIORITY, CSPAWN_STEP_CPU_POLICY, CSPAWN_STEP_OOM_SCORE:
            return definition.execution.priorities.description(of: failure.step)
        case CSPAWN_STEP_CONTROL_GROUP: return "enter its control group"
        case CSPAWN_STEP_DESCRIPTORS: return "set up the descriptors"
        case CSPAWN_STEP_LIMITS:
            let limits = limits(of: definition)
            let index = Int(failure.item)
            guard limits.indices.contains(index) else { return "set the limit of open files" }
            return "set the limit \(limits[index].rawValue)"
        case CSPAWN_STEP_GROUPS: return "set the groups of \(account.name)"
        case CSPAWN_STEP_GROUP: return "set the group of \(account.name)"
        case CSPAWN_STEP_USER: return "switch to the user \(account.name)"
        case CSPAWN_STEP_KEYS: return "join a new session keyring"
        case CSPAWN_STEP_CAPABILITIES:
            let names = CapabilitySet.names
            let index = Int(failure.item)
            guard names.indices.contains(index) else { return "limit the capabilities" }
            return "keep the capability \(names[index]), which the runner itself does not have"
        case CSPAWN_STEP_LABEL: return "set the context of the program"
        case CSPAWN_STEP_NO_NEW_PRIVILEGES: return "forbid new privileges"
        case CSPAWN_STEP_HELPER: return describeHelper(failure)
        case CSPAWN_STEP_DIRECTORY:
            return "chdir \(definition.workingDirectory ?? account.home)"
        default:
            let step = "exec \(Program(definition.command, path: "").name)"
            guard failure.error == EAGAIN else { return step }
            return "\(step): \(account.name) has as many processes as the limit nproc allows"
        }
    }
}
