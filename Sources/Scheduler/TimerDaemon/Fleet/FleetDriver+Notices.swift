// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging
package import TimerCore
import TimerFleet
import TimerFleetLink

/// What users should know of the fleet: its notices in the log.
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
        case .unreadable(let key, let fault):
            dependencies.log.error(
                "A value of the fleet \(fleet) in etcd cannot be read: \(fault); \(key.consequence) until it can"
            )
        case .drained:
            dependencies.log.notice(
                "This machine is drained: it starts no runs of the fleet; `timerctl fleet undrain` ends that"
            )
        case .recovered(isHeld: true):
            dependencies.log.warning(
                "The fleet \(fleet) was adopted, and none of its machines remembers what was paused: it is held. Pause what must not run, then `timerctl fleet release`"
            )
        case .recovered(isHeld: false):
            dependencies.log.notice(
                "The fleet \(fleet) was adopted; its machines have brought back what they remember, and it goes on"
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
                new.endpoint == nil
                    ? "No connection to the fleet \(fleet): \(problem). Its jobs wait; other jobs run as usual"
                    : "The fleet \(fleet) is connected, but \(problem)")
        } else if new.problem == nil, old.problem != nil, new.endpoint != nil {
            dependencies.log.notice("Connected to the fleet \(fleet)")
        }
    }
}

extension FleetKey {
    /// What this machine does not do while it cannot read the value of the key.
    fileprivate var consequence: String {
        switch self {
        case .job(let job): "this machine does not start \(job)"
        case .run(let run): "this machine does not start \(run.firing.job)"
        case .member(let machine): "\(machine) counts as connected, and as one that starts nothing,"
        case .identity, .hold, .clock: "the jobs of the fleet do not run here"
        }
    }
}

extension FleetStatus.Obstacle {
    /// What it is, and what to do next; nil if the reply says that elsewhere.
    package func sentence(of machine: MachineName) -> String? {
        switch self {
        case .drained: nil
        case .nameTaken:
            "another machine of the fleet is connected as \(machine), or this one was before its reboot, and its lease has not ended; if this does not change soon, give each machine a name of its own (`machine` in [fleet]), and restart timerd"
        case .clock(let skew):
            "the clock of this machine is ahead of that of etcd by \(skew.lowerBound) to \(skew.upperBound) ms, which is more than `clock-skew-max`; correct the one that is wrong (`timedatectl` shows whether it is synchronized)"
        case .joining:
            "it has just joined, and first compares its clocks with those of etcd and of the other machines, which takes some seconds"
        case .recovering:
            "etcd was adopted moments ago, and the machines bring back what they remember of the jobs, which takes about a quarter of a minute"
        case .unanswered:
            "etcd has not answered for so long that the other machines may soon count this one as gone; `systemctl status timerd-fleet` and the log of etcd say more"
        }
    }
}

extension IdentityGuard.Finding {
    /// What is wrong, and what to do next.
    package var sentence: String {
        switch self {
        case .notFormed:
            "it does not exist in etcd yet, or etcd was emptied; `timerctl fleet adopt` forms it (if it was emptied, on a machine that was in the fleet before)"
        case .foreign:
            "etcd has another fleet, or is another cluster, than the one that this machine knows; if that is right, use `timerctl fleet adopt`"
        case .newer:
            "a newer version of timerd writes it, which all machines that were connected had; install that version here"
        case .restored:
            "etcd was restored from a snapshot, and does not have what changed after it; if that is right, `timerctl fleet adopt` continues without starting anything twice"
        case .older:
            "etcd lost changes that this machine has seen, as after a restore; if that is right, `timerctl fleet adopt` continues without starting anything twice"
        }
    }
}
