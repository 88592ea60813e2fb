// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerJSON

extension Draft {
    /// The keys of a job that runs after others.
    static let follows: [JobKey] = [
        JobKey(
            "follows", .oneOrMore(followsRecord), type: "TABLE or array",
            "The job runs after runs of these other jobs: job, on, delay and within.",
            default: false
        ) { node, draft throws(Fault) in
            draft.follows = Marked(try node.follows(), node.mark)
        },
        JobKey(
            \.onDemand, "on-demand", .boolean,
            "The job has no schedule: it runs on request, or after other jobs.", default: false),
    ]

    private static let followsRecord = ValueShape.record([
        ("job", .pattern(ValueShape.name)), ("on", .words(of: Follows.On.self)),
        ("delay", .span), ("within", .span),
    ])
}

extension TomlNode {
    private static let withinMin = Duration.seconds(1)

    /// A table, or an array of tables, each about one job.
    fileprivate func follows() throws(Fault) -> Follows {
        let nodes: [TomlNode]
        if case .array(let elements) = value { nodes = elements } else { nodes = [self] }
        guard !nodes.isEmpty else {
            throw Fault(mark, "is empty; name a job such as { job = \"backup\" }, or remove it")
        }
        guard nodes.count <= Follows.causesMax else {
            throw Fault(mark, "has \(nodes.count) jobs; at most \(Follows.causesMax)")
        }
        var names: Set<Job.Name> = []
        let causes = try nodes.readEach { (node) throws(Fault) in
            let cause = try node.followsCause(isOne: nodes.count == 1)
            guard names.insert(cause.job).inserted else {
                throw Fault(node.mark, "names the job \"\(cause.job)\" twice; keep one")
            }
            return cause
        }
        return Follows(causes)
    }

    private func followsCause(isOne: Bool) throws(Fault) -> Follows.Cause {
        guard case .table(let entries) = value else {
            throw Fault(
                mark,
                "must be a table such as { job = \"backup\", on = \"success\" }, not \(value.kind)")
        }
        var name: Job.Name?
        var cause = Follows.Cause(.messages)
        for entry in entries {
            switch entry.key {
            case "job": name = try entry.node.jobName()
            case "on":
                cause.on = try entry.node.choice(
                    of: Follows.On.allCases.map { ($0.rawValue, $0) })
            case "delay": cause.delay = try entry.node.span()
            case "within":
                guard !isOne else {
                    throw Fault(
                        entry.mark,
                        "within says how long an end waits for those of other jobs, and there is only one job; remove it"
                    )
                }
                cause.within = try entry.node.span()
                guard cause.within >= Self.withinMin else {
                    throw Fault(
                        entry.node.mark, "within is shorter than \(TimeSpan.text(Self.withinMin))")
                }
            default:
                throw Fault(
                    entry.mark,
                    "unknown key \"\(entry.shown)\"; it has job, on, delay and within")
            }
        }
        guard let name else { throw Fault(mark, "job is missing, such as job = \"backup\"") }
        cause.job = name
        return cause
    }
}
