// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Logging

/// The kinds of log entries. The raw value is `TIMERD_EVENT`.
package enum EventKind: String, CaseIterable {
    case daemonStarted = "daemon-started"
    case recovered
    case fired
    case runOrdered = "run-ordered"
    case skipped
    case held
    case awaitsCondition = "awaits-condition"
    case catchUpDelayed = "catch-up-delayed"
    case windowEnded = "window-ended"
    case replacing
    case retrying
    case runBegan = "run-began"
    case killed = "run-killed"
    case cancelled = "run-cancelled"
    case runEnded = "run-ended"
    case runRecovered = "run-recovered"
    case runReattached = "run-reattached"
    case paused
    case pauseChanged = "pause-changed"
    case resumed
    case started
    case stopped
    case skipNextSet = "skip-next-set"
    case machineHeld = "machine-held"
    case machineReleased = "machine-released"
    case renamed
    case finished
    case reloaded
    case configRefused = "config-refused"
    case zonesChanged = "zones-changed"
    case clockStepped = "clock-stepped"
    case incidentBegan = "incident-began"
    case incidentEnded = "incident-ended"
    case shutDown = "shut-down"
    case commanded
    case oneOffCreated = "one-off-created"
    case oneOffCancelled = "one-off-cancelled"
    case oneOffRemoved = "one-off-removed"
    case loginLinkMade = "login-link-made"
    case loggedIn = "logged-in"
    case sessionsEnded = "sessions-ended"
    case stateLost = "state-lost"
    case lossAccepted = "data-loss-accepted"
    case stateDamaged = "state-damaged"

    /// Which time records belong to an entry. An entry that reports a change of a job's record or
    /// time has them. An entry that only follows from a firing does not.
    enum Scope {
        case job
        case allJobs
        case none
    }

    /// The message id and the scope. Once released, an id belongs to its kind for ever (sd-id128,
    /// `systemd-id128 new`), because catalogs and filters of users depend on it.
    private var constants: (messageID: String, scope: Scope) {
        switch self {
        case .daemonStarted: ("ccfee833880747cd993caeb202c22c66", .allJobs)
        case .recovered: ("c8b60c4954654cd6bc2f54ff8cb0601c", .job)
        case .fired: ("56d8dea798c147f89124d8728be112c8", .job)
        case .runOrdered: ("482b5b5e0c644169aa0537f5199160ec", .job)
        case .skipped: ("09a04bd32e6a4926b828ac3bbd56daa7", .job)
        case .held: ("08019b28cb08404493927bf6c5cbfd67", .none)
        case .awaitsCondition: ("5d0b9e6f2c7a4d18a3f4c1e7b8960d2a", .none)
        case .catchUpDelayed: ("d647c370716f4e0488ad7a895fae4755", .none)
        case .windowEnded: ("3c1f6f0be5a24c0d9f6a2d7e41b85a93", .none)
        case .replacing: ("b4748a1a5299413aa593950408fab017", .none)
        case .retrying: ("a95b04f95e23436f8005bd0fea6c13ae", .none)
        case .runBegan: ("720c42b63b20440f94fefedd13311bd6", .none)
        case .killed: ("6130fab8375f46799b3c1364f7b743e0", .none)
        case .cancelled: ("a8473a1437004f6b92a9ce2388baf03b", .none)
        case .runEnded: ("adba0b97016b4e94b4265864c35602eb", .none)
        case .runRecovered: ("9f37c77c565c475ba9ffb92eb440c802", .none)
        case .runReattached: ("5b0f4c3e9a4d4a0f8e2b6c7d1f3a9e52", .none)
        case .paused: ("d9a7b41daf174e07a47d762208bdfd26", .job)
        case .pauseChanged: ("8094433412654bc2b867c091509dd99e", .job)
        case .resumed: ("d122d58047494229b6d241623fadce5c", .job)
        case .started: ("c23b8ffa95884236a2bc401b6388143c", .job)
        case .stopped: ("132be4a8dcb44c549a01cbc50ca70a08", .job)
        case .skipNextSet: ("688ef428590f49709ee701bb4063a476", .job)
        case .machineHeld: ("2b6d1be747bd472eb33db351f4fe9444", .none)
        case .machineReleased: ("42d8287487924adab956c851a3906266", .allJobs)
        case .renamed: ("6f2589a972604722bc16414a46809dc1", .job)
        case .finished: ("72e0b45752a64ee68441d841160a4713", .job)
        case .reloaded: ("afe471a1bc9f428d87b73cb92da17bb8", .allJobs)
        case .configRefused: ("7b0e52c1d9f64a3e8c25f1a6e04b9d73", .none)
        case .zonesChanged: ("042eba724d5c4eb0a84cf297750d8768", .none)
        case .clockStepped: ("9c1d5e0f4b7a4e6f8d2c3b4a5f6e7d81", .none)
        case .incidentBegan: ("0d6c9d0ee7c14d0aa6e8ad4f9df51a1b", .none)
        case .incidentEnded: ("b1f7a3c2f5d84a5d9c1de0a86a7c4f3e", .none)
        case .shutDown: ("3359449f3cf842bcacd3e0bd559bdf34", .allJobs)
        case .commanded: ("d95ddf4912584eb1b62327cf20fc955f", .none)
        case .oneOffCreated: ("4c0f1a52f2d9463c9d3b5de8a6b1c7f0", .none)
        case .oneOffCancelled: ("a1f3c6ad0b0c4e0d8b1b6f4d2c7e9a35", .none)
        case .oneOffRemoved: ("5be0a4a1e6f94b0f9b6a1f0c5b7f7d11", .none)
        case .loginLinkMade: ("8f0d2f6b1c9e4a57b3a4d1e7c65f9a20", .none)
        case .loggedIn: ("c41e7a9d53b84f0e9a6d2b8f170c35e4", .none)
        case .sessionsEnded: ("e2b70d5c8f3a4c16b9d0a47f51c83e6d", .none)
        case .stateLost: ("3d3691d4913b48e595c0f4643bc2e72d", .none)
        case .lossAccepted: ("daf4867047854eedb6312ebf331b4831", .none)
        case .stateDamaged: ("f27b2ed4e51c4c128af016d4f841fb3d", .none)
        }
    }

    var messageID: String { constants.messageID }

    var scope: Scope { constants.scope }

    /// The fields by which an entry of this kind is found.
    var fields: Logger.Metadata {
        ["TIMERD_EVENT": "\(rawValue)", "MESSAGE_ID": "\(messageID)"]
    }
}
