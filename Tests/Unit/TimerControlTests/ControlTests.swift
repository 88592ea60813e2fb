// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerControl

/// Pauses in the form of a request.
enum SeenPauses {
    static let text = #"{"job":"a","since":"2026-12-24T18:00:00Z","by":"b"}"#

    static func body(_ pauses: String...) -> String {
        #"{"pauses": [\#(pauses.joined(separator: ", "))]}"#
    }

    static func pause(note: String? = nil, until: Int64? = nil, withRun: Bool = false) -> Pause {
        Pause(
            since: WallInstant(microsecondsSinceEpoch: 1_794_000_000_123_456), by: .user("ada"),
            note: note, until: until.map { WallInstant(secondsSinceEpoch: $0) }, withRun: withRun)
    }
}

@Suite struct ControlRequestTests {
    private static let name = Job.Name("backup")!
    private static let run = Run.ID("backup:20261121T043852.000000Z:1")!

    @Test(arguments: [
        ControlRequest.list, .show(name), .why(name), .reload(),
        .reload(ReloadQuery(isStrict: true)), .previewReload, .document,
        .command(.pause, name, CommandBody(note: "disk \"swap\" — ß 💾")),
        .command(.pause, name, CommandBody(until: "2026-12-24T18:00:00Z", withRun: true)),
        .command(.pause, name, CommandBody(forUsec: 90_000_000)), .command(.resume, name),
        .command(.start, name), .command(.stop, name), .command(.run, name),
        .command(.skipNext, name, CommandBody(count: 3)),
        .commands(.pause, .all, CommandBody(note: "x", forUsec: 5, withRun: true)),
        .commands(.stop, .jobs([name, Job.Name("b@home")!])),
        .commands(
            .resume,
            .pauses([
                NamedPause(
                    job: "backup",
                    PauseStatus(
                        SeenPauses.pause(note: "disk \"swap\"", until: 1_795_000_000, withRun: true)
                    )),
                NamedPause(job: "a", PauseStatus(SeenPauses.pause())),
            ])), .show(Job.Name("pause")!),
        .history(HistoryQuery()),
        .history(
            HistoryQuery(
                job: name, match: ["db-*", "x"], result: .failed, cause: .retry,
                since: WallInstant(secondsSinceEpoch: 1_795_000_000),
                until: WallInstant(secondsSinceEpoch: 1_795_000_060), limit: 1000, lines: 1)),
        .history(HistoryQuery(result: .skipped, cause: .catchUp)),
        .history(
            HistoryQuery(
                until: WallInstant(secondsSinceEpoch: 1_795_000_000), output: false, skipped: true,
                cursor: HistoryCursor("s1795000000000000.17"))),
        .recent(),
        .recent(
            RecentQuery(
                count: 100, since: WallInstant(secondsSinceEpoch: 1_795_000_000), failed: true,
                after: name)),
        .days(name, DaysQuery(count: 366)), .pauses(PauseQuery()),
        .pauses(
            PauseQuery(
                job: name, since: WallInstant(secondsSinceEpoch: 1_795_000_000),
                until: WallInstant(secondsSinceEpoch: 1_795_000_060), limit: 1000)),
        .oneOffs(), .oneOffs(OneOffsQuery(base: "restic")), .takeOneOff(name), .cancelOneOff(name),
        .command(.run, name, CommandBody(environment: ["A=1=2", "B=", "C=\u{1F3FB}"])),
        .commands(.run, .all, CommandBody(environment: ["A_KEY=ß"], machine: "db-2")),
        .command(.run, name, CommandBody(arguments: ["full", "a b"])),
        .commands(.run, .jobs([name]), CommandBody(arguments: ["--full"], force: true)),
        .command(.run, name, CommandBody(machine: "db-2")),
        .run(run), .command(.retry, name), .commands(.retry, .all), .log(name),
        .log(name, LogQuery(run: run, after: UInt64(Int64.max))),
        .kill(name, KillQuery(), KillBody()),
        .kill(name, KillQuery(run: run), KillBody(signal: "usr1")),
    ])
    func isReadAsItWasWritten(request: ControlRequest) throws {
        let read = try ControlRequest(
            method: request.method, path: request.path, body: request.body)
        #expect(read == request)
    }

    @Test(arguments: [
        ("GET", "/", "", ControlRequest.Fault.notFound("/")),
        ("GET", "/v2/jobs", "", .notFound("/v2/jobs")),
        ("GET", "/v1/jobs/a b", "", .notFound("/v1/jobs/a b")),
        ("GET", "/v1/jobs/..", "", .notFound("/v1/jobs/..")),
        ("GET", "/v1/jobs/a%2Fwhy", "", .notFound("/v1/jobs/a%2Fwhy")),
        ("GET", "/v1/jobs/a%00/why", "", .notFound("/v1/jobs/a%00/why")),
        ("POST", "/v1/jobs/a/frob", "", .notFound("/v1/jobs/a/frob")),
        ("GET", "/v1/jobs/a/pause", "", .methodNotAllowed(["POST", "OPTIONS"])),
        ("DELETE", "/v1/jobs/a", "", .methodNotAllowed(["GET", "HEAD", "OPTIONS"])),
        (
            "DELETE", "/v1/reload", "", .methodNotAllowed(["GET", "HEAD", "POST", "OPTIONS"])
        ),
        ("POST", "/v1/jobs/a/why", "", .methodNotAllowed(["GET", "HEAD", "OPTIONS"])),
        (
            "POST", "/v1/jobs/a/pause", #"{"until": "noon"}"#,
            .badBody("until must be an instant such as 2026-12-24T18:00:00Z (RFC 3339)")
        ),
        (
            "POST", "/v1/jobs/a/pause", #"{"until": "2026-12-24T18:00:00Z", "for_usec": 1}"#,
            .badBody("until and for_usec exclude each other")
        ),
        (
            "POST", "/v1/jobs/a/pause", #"{"for_usec": -1}"#,
            .badBody("for_usec must be from 1 to 3155760000000000")
        ),
        (
            "POST", "/v1/jobs/a/skip-next", #"{"count": -1}"#,
            .badBody("count must be from 0 to 1000000")
        ),
        ("POST", "/v1/one-offs", "", .methodNotAllowed(["GET", "HEAD", "OPTIONS"])),
        ("GET", "/v1/one-offs/a", "", .methodNotAllowed(["POST", "OPTIONS"])),
        ("POST", "/v1/one-offs/a", #"{"command": ["id"]}"#, .unknownKey("command", known: [])),
        ("POST", "/v1/one-offs/..", "", .notFound("/v1/one-offs/..")),
        ("POST", "/v1/one-offs/a/frob", "", .notFound("/v1/one-offs/a/frob")),
        (
            "GET", "/v1/one-offs?base=../x", "",
            .badQuery("base must be the beginning of a job name, of 40 characters at most")
        ),
        ("POST", "/v1/runs", "", .methodNotAllowed(["GET", "HEAD", "OPTIONS"])),
        ("GET", "/v1/runs/a", "", .noSuchRun("a")),
        // A date that does not exist.
        (
            "GET", "/v1/jobs/a/log?run=a:20260230T000000.000000Z:1", "",
            .noSuchRun("a:20260230T000000.000000Z:1")
        ),
        (
            "POST", "/v1/jobs/a/pause", #"{"note": null}"#,
            .badBody("note is null; leave it out instead")
        ),
        ("GET", "/v1/runs/a:1:1/log", "", .notFound("/v1/runs/a:1:1/log")),
        (
            "POST", "/v1/runs/backup:20261121T043852.000000Z:1", "",
            .methodNotAllowed(["GET", "HEAD", "OPTIONS"])
        ),
        (
            "POST", "/v1/jobs/a/run", #"{"environment": ["secret"]}"#,
            .badBody("environment: the entry 1 is not NAME=value")
        ),
        (
            "POST", "/v1/jobs/a/run", #"{"environment": ["A=\u0000"]}"#,
            .badBody("environment: the value of A has a NUL character")
        ),
        (
            "POST", "/v1/jobs/a/run", #"{"arguments": ["full", ""]}"#,
            .badBody("arguments: a word is empty")
        ),
        (
            "POST", "/v1/jobs/a/run", #"{"arguments": ["full", "x", "full"]}"#,
            .badBody(#"arguments: "full" is there twice"#)
        ),
        (
            "POST", "/v1/jobs/a/run", #"{"arguments": ["a\nb"]}"#,
            .badBody(#"arguments: "a\nb" has a control character"#)
        ),
        (
            "POST", "/v1/jobs/a/retry", #"{"arguments": ["full"]}"#,
            .unknownKey("arguments", known: [])
        ),
        ("POST", "/v1/jobs/a/retry", #"{"count": 1}"#, .unknownKey("count", known: [])),
        ("POST", "/v1/jobs/a", "", .methodNotAllowed(["GET", "HEAD", "OPTIONS"])),
        ("GET", "/v1/jobs/%zz", "", .notFound("/v1/jobs/%zz")),
        ("GET", "/v1/jobs/%+5", "", .notFound("/v1/jobs/%+5")),
        ("GET", "/v1/jobs/%ff", "", .notFound("/v1/jobs/%ff")),
        ("GET", "/v1/jobs/a%2fb", "", .notFound("/v1/jobs/a%2fb")),
        ("GET", "/v1/recent?failed=maybe", "", .badQuery("failed must be 1 or 0")),
        (
            "GET", "/v1/runs?result=maybe", "",
            .badQuery("result must be one of succeeded, failed, other, skipped")
        ),
        (
            "GET", "/v1/runs?cause=luck", "",
            .badQuery("cause must be one of schedule, requested, chain, resume, catch-up, retry")
        ),
        ("GET", "/v1/runs?lines=0", "", .badQuery("lines must be from 1 to 1000")),
        (
            "GET", "/v1/runs?match=a,", "",
            .badQuery(
                "match must be 1 to 16 patterns of at most 256 characters, with commas between them"
            )
        ),
        ("GET", "/v1/runs?limit=1&limit=2", "", .badQuery("limit is given twice")),
        (
            "GET", "/v1/runs?jobs=a", "",
            .unknownParameter(
                "jobs",
                known: [
                    "job", "match", "result", "cause", "since", "until", "limit", "output",
                    "lines", "skipped", "cursor",
                ])
        ),
        ("GET", "/v1/jobs?job=a", "", .unknownParameter("job", known: [])),
        ("GET", "/v1/jobs", "{\"a\":1}", .unknownKey("a", known: [])),
        ("GET", "/v1/jobs/a/kill", "", .methodNotAllowed(["POST", "OPTIONS"])),
        ("GET", "/v1/runs?limit=0", "", .badQuery("limit must be from 1 to 1000")),
        ("GET", "/v1/runs?limit=1001", "", .badQuery("limit must be from 1 to 1000")),
        ("GET", "/v1/runs?job=%41%2", "", .badQuery("\"job=%41%2\" is not of the form name=value")),
        ("GET", "/v1/runs?job=a%20b", "", .badQuery("\"a b\" is not a job name")),
        (
            "GET", "/v1/runs?since=noon", "",
            .badQuery("since must be an instant such as 2026-12-24T18:00:00Z (RFC 3339)")
        ),
        (
            "GET", "/v1/jobs/a/log?after=-1", "",
            .badQuery("after must be a whole number, at most 9223372036854775807")
        ),
        ("GET", "/v1/jobs/a/log?run=a", "", .noSuchRun("a")),
        (
            "POST", "/v1/jobs/a/kill", #"{"signal": "9"}"#,
            .badBody(
                "unknown signal \"9\"; one of HUP, INT, QUIT, ABRT, KILL, USR1, USR2, ALRM, TERM, "
                    + "CONT, STOP, TSTP, WINCH")
        ),
        (
            "POST", "/v1/jobs/a/pause", #"{"note": "disk\u0000swap"}"#,
            .badBody(
                "a note cannot have control characters such as line ends; character 5 is U+0000")
        ),
        (
            "POST", "/v1/jobs/a/pause", #"{"note": "\n"}"#,
            .badBody(
                "a note cannot have control characters such as line ends; character 1 is U+000A")
        ),
        (
            "POST", "/v1/jobs/a/pause", #"{"note": "é\u009b31m"}"#,
            .badBody(
                "a note cannot have control characters such as line ends; character 2 is U+009B")
        ),
        (
            "POST", "/v1/jobs/a/pause", "note",
            .badBody(
                #"the body is not JSON such as {"note": "disk swap"}: at byte 0: this is not a valid value"#
            )
        ),
        (
            "POST", "/v1/jobs/a/pause", #"{"with_run": "yes"}"#,
            .badBody(
                #"the body must be JSON such as {"note": "disk swap"}: the value at byte 14: "#
                    + "has another type")
        ),
        (
            "POST", "/v1/jobs/pause", #"{"pauses": []}"#,
            .unknownKey("pauses", known: ["all", "jobs", "for_usec", "note", "until", "with_run"])
        ),
        (
            "POST", "/v1/jobs/run", #"{"all": true, "machine": ""}"#,
            .badBody("machine must be the name of a machine of the fleet")
        ),
        ("POST", "/v1/jobs/resume", #"{"pauses": []}"#, .badBody("pauses: name at least one")),
        (
            "POST", "/v1/jobs/resume", #"{"all": true, "pauses": []}"#,
            .badBody("jobs, all and pauses exclude each other")
        ),
        (
            "POST", "/v1/jobs/resume",
            SeenPauses.body(
                SeenPauses.text, #"{"job":"a","since":"2026-12-24T18:00:00Z","by":"c"}"#),
            .conflict("pauses: \"a\" is given twice, in two pauses")
        ),
        (
            "POST", "/v1/jobs/resume", SeenPauses.body(#"{"job":"a","since":"now","by":"b"}"#),
            .badBody(
                "pauses: since and until must be instants such as 2026-12-24T18:00:00Z (RFC 3339)")
        ),
        (
            "POST", "/v1/jobs/resume",
            SeenPauses.body(#"{"job":"a","since":"2026-12-24T18:00:00Z","by":"b","untl":"x"}"#),
            .badBody(
                #"the body must be JSON such as {"jobs": ["backup", "report"]}: pauses: unknown key "untl"; a pause "#
                    + "has by, job, note, since, until, with_run")
        ),
        ("POST", "/v1/jobs/a/resume", #"{"count": 1}"#, .unknownKey("count", known: [])),
        (
            "POST", "/v1/jobs/stop", #"{"jobs": ["a b"]}"#,
            .badBody("jobs: \"a b\": \(Job.Name.fault(in: "a b") ?? "")")
        ),
    ])
    func refuses(method: String, path: String, body: String, fault: ControlRequest.Fault) {
        #expect(throws: fault) {
            try ControlRequest(method: method, path: path, body: Array(body.utf8))
        }
    }

    @Test func aNoteHasALimit() throws {
        let long = String(repeating: "x", count: CommandBody.noteBytesMax + 1)
        let body = try ControlJSON.encode(CommandBody(note: long))
        #expect(throws: ControlRequest.Fault.self) {
            try ControlRequest(method: "POST", path: "/v1/jobs/a/pause", body: body)
        }
    }

    @Test func headIsReadAsGet_andANameMayBePercentEncoded() throws {
        for method in ["GET", "HEAD"] {
            let read = try ControlRequest(
                method: method, path: "http://timerd/v1/jobs/mail%40home/why", body: [])
            #expect(read == .why(Job.Name("mail@home")!))
        }
    }

    @Test func eachCommandHasItsRow_andNoPathIsThereTwice() {
        let verbs = ControlRequest.commandForms.map(\.verb) + [.kill]
        #expect(Set(verbs) == Set(JobCommand.Verb.allCases))
        let rows = EndpointTable.all.map(\.facts)
        #expect(Set(rows.map { "\($0.method) \($0.path)" }).count == rows.count)
        #expect(Set(rows.map(\.id)).count == rows.count)
    }

    @Test func onlyOrdersAndReloadsChangeAnything() {
        #expect(!ControlRequest.list.isChange && !ControlRequest.show(Self.name).isChange)
        #expect(ControlRequest.reload().isChange && !ControlRequest.previewReload.isChange)
        for verb in JobCommand.Verb.allCases {
            #expect(ControlRequest.command(verb, Self.name).isChange)
            if verb != .kill { #expect(ControlRequest.commands(verb, .all).isChange) }
        }
    }

    @Test func theSocketIsTheSystemsForRoot_andOnesOwnForOthers() {
        let own = ["XDG_RUNTIME_DIR": "/run/user/1000"]
        #expect(ControlPath.standard(uid: 0, environment: own) == "/run/timerd/control.sock")
        #expect(
            ControlPath.standard(uid: 1000, environment: own)
                == "/run/user/1000/timerd/control.sock")
        #expect(ControlPath.standard(uid: 1000, environment: [:]) == "/run/timerd/control.sock")
    }

    @Test(
        arguments: [
            (ControlPath.Owner.user, "/run/user/7", "/run/user/7/timerd"),
            (.user, nil, "/run/user/1000/timerd"), (.user, "relative", "/run/user/1000/timerd"),
            (.system, "/run/user/7", "/run/timerd"), (.system, nil, "/run/timerd"),
        ] as [(ControlPath.Owner, String?, String)])
    func theSocketIsThatOfTheDaemonAskedFor(
        owner: ControlPath.Owner, runtime: String?, directory: String
    ) {
        let environment = runtime.map { ["XDG_RUNTIME_DIR": $0] } ?? [:]
        let path = ControlPath.standard(of: owner, uid: 1000, environment: environment)
        #expect(path == "\(directory)/control.sock")
    }
}
