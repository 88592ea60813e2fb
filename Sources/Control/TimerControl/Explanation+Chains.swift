// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// The jobs after which a job runs.
extension Explanation {
    /// Says after what the job runs, and which of that has happened.
    mutating func explainChain(of job: JobStatus) {
        guard let follows = job.follows else {
            if job.onDemand == true, job.state != "stopped" {
                add(
                    .onDemand,
                    "It has no schedule: it runs only on request, with `timerctl run \(job.job)`.")
            }
            return
        }
        add(.follows, "It runs after \(FollowWords.all(follows)).")
        for one in follows {
            guard let run = one.run, let ended = one.ended else { continue }
            let what = "Run \(run) \(FollowWords.ended(one.ends)) at \(show(ended))\(away(ended))"
            add(.followedEnd, what + rest(of: job, after: one, follows), at: ended, run: run)
        }
        let awaited = follows.filter { $0.run == nil }.map(\.job)
        guard follows.count > 1, awaited.count < follows.count, !awaited.isEmpty else { return }
        add(
            .followedAwaited,
            "It waits for \(awaited.count == 1 ? "a run" : "runs") of \(FollowWords.list(awaited))."
        )
    }

    private func rest(
        of job: JobStatus, after one: FollowStatus, _ follows: [FollowStatus]
    ) -> String {
        switch job.state {
        case "paused":
            return job.policy?.onResume == "restart"
                ? ", which resuming forgets (on-resume)." : "; the job runs when it is resumed."
        case "stopped": return "."
        default:
            guard follows.allSatisfy({ $0.run != nil }) else {
                return one.withinUsec.map { ", which counts for \(span($0))." } ?? "."
            }
            return job.followsAt.map { "; the job runs after it at \(show($0))." } ?? "."
        }
    }
}

/// What a job follows, in words.
public enum FollowWords {
    /// All that a job follows: `each run of backup that succeeds`.
    public static func all(_ follows: [FollowStatus]) -> String {
        guard follows.count > 1 else { return follows.first.map { one($0, "each run") } ?? "-" }
        return "one of each: " + list(follows.map { one($0, "a run") })
    }

    private static func one(_ follow: FollowStatus, _ run: String) -> String {
        let delay = follow.delayUsec.map { ", and \(TimeSpan.text(.microseconds($0))) more" } ?? ""
        return "\(run) of \(Printable.text(follow.job)) \(ends(follow.ends))\(delay)"
    }

    static func list(_ texts: [String]) -> String {
        guard texts.count > 1, let last = texts.last else { return texts.first ?? "" }
        return texts.dropLast().joined(separator: ", ") + " and " + last
    }

    private static func ends(_ on: String) -> String {
        switch on {
        case "success": "that succeeds"
        case "failure": "that fails"
        case "skip": "that is skipped"
        default: "that ends"
        }
    }

    static func ended(_ on: String) -> String {
        switch on {
        case "success": "succeeded"
        case "failure": "failed"
        case "skip": "was skipped"
        default: "ended"
        }
    }
}
