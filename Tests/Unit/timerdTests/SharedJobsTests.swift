// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerDaemon

/// What this machine knows of the jobs of its fleet.
@Suite struct SharedJobsTests {
    private func name(_ text: String) -> Job.Name { Job.Name(text)! }

    private func view(isPaused: Bool = false, withRun: Bool = false, isStale: Bool = false)
        -> FleetJobView
    {
        var view = FleetJobView(active: .zero, accrued: .zero, firings: 0, skips: 0)
        view.isStale = isStale
        if isPaused {
            view.pause = Pause(
                since: WallInstant(secondsSinceEpoch: 1), by: .user("ann"), withRun: withRun)
        }
        return view
    }

    private func expectNote(
        _ views: [Job.Name: FleetJobView], _ expected: Set<Job.Name>?, in shared: inout SharedJobs,
        at place: SourceLocation = #_sourceLocation
    ) {
        let paused = shared.note(views)
        #expect(paused == expected, sourceLocation: place)
    }

    @Test func whatTheFleetSaysReplacesWhatItSaidBefore() {
        var shared = SharedJobs()
        _ = shared.note([name("a"): view(isPaused: true)])
        #expect(shared.view(of: name("a"))?.pause != nil)
        _ = shared.note([name("b"): view()])
        #expect(shared.view(of: name("a")) == nil && shared.view(of: name("b")) != nil)
    }

    /// The agenda suspends the runs of these jobs, also those that start later, and resumes them.
    @Test func theAgendaMustKnowWhichRunsArePaused() {
        var shared = SharedJobs()
        let paused = view(isPaused: true, withRun: true)
        // It is not known before the first answer, so also that there are none is said once.
        expectNote([name("a"): view()], [], in: &shared)
        expectNote([name("a"): view(isPaused: true)], nil, in: &shared)
        expectNote([name("a"): paused, name("b"): view()], [name("a")], in: &shared)
        expectNote([name("a"): paused, name("b"): view()], [name("a")], in: &shared)
        expectNote([name("a"): view()], [], in: &shared)
        expectNote([name("a"): view()], nil, in: &shared)
    }

    /// Without a connection it is not known whether a pause has ended.
    @Test func nothingIsConcludedWithoutAConnection() {
        var shared = SharedJobs()
        _ = shared.note([name("a"): view(isPaused: true, withRun: true)])
        expectNote([name("a"): view(isStale: true)], nil, in: &shared)
        #expect(shared.view(of: name("a"))?.isStale == true)
        expectNote([:], [], in: &shared)
    }

    @Test func aTemplateIsKnownByTheJobThatWasMadeFromIt() {
        func job(_ text: String, template: String? = nil) -> Job {
            var job = Job(
                name: name(text), command: .shell("true"), schedule: .every(.seconds(60)))
            job.fleet = FleetPolicy()
            job.fleet?.template = template.map(name)
            return job
        }
        var shared = SharedJobs()
        shared.noteTemplates(of: [job("log@web1", template: "log"), job("other")])
        #expect(shared.instance(of: name("log")) == name("log@web1"))
        #expect(shared.instance(of: name("other")) == nil)
        shared.noteTemplates(of: [job("other")])
        #expect(shared.instance(of: name("log")) == nil)
    }
}
