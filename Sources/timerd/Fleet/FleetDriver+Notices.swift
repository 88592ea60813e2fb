// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
import TimerFleet
import TimerFleetLink

/// What users should know of the fleet.
extension FleetDriver {
    func tell(_ notice: FleetNotice) {
        let fleet = dependencies.fleet
        switch notice {
        case .guarded(let finding):
            dependencies.log.error("The fleet \(fleet) cannot be used: \(finding.sentence)")
        case .fault(let fault):
            dependencies.log.error(
                "A value of the fleet \(fleet) in etcd cannot be read: \(fault); its jobs do not run here until it is corrected"
            )
        case .drained:
            dependencies.log.notice(
                "This machine is drained: it starts no runs of the fleet; `timerctl fleet undrain` ends that"
            )
        case .pauseEnded(let job):
            dependencies.log.notice("\(job): resumed by the end of the pause in the fleet")
        }
    }

    /// Logs that the connection is lost or works again, each once.
    func note(_ new: FleetLinkStatus, after old: FleetLinkStatus) {
        let fleet = dependencies.fleet
        if let problem = new.problem, problem != old.problem {
            dependencies.log.error(
                "No connection to the fleet \(fleet): \(problem). Its jobs wait; other jobs run as usual"
            )
        } else if new.problem == nil, old.problem != nil, new.endpoint != nil {
            dependencies.log.notice("Connected to the fleet \(fleet)")
        }
    }
}

extension IdentityGuard.Finding {
    /// What is wrong, and what to do next.
    var sentence: String {
        switch self {
        case .notFormed:
            "it does not exist in etcd yet, or etcd was emptied; `timerctl fleet adopt` forms it"
        case .foreign:
            "etcd has another fleet, or is another cluster, than the one that this machine knows; if that is right, use `timerctl fleet adopt`"
        case .older:
            "etcd lost changes that this machine has seen, as after a restore; if that is right, `timerctl fleet adopt` continues without starting anything twice"
        }
    }
}
