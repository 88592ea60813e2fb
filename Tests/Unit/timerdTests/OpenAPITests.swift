// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import ProjectFiles
import Testing
import TimerControl
import TimerCore

@testable import timerctl

/// Compares Sources/Control/COpenAPI/openapi.json with the code, in both directions. `make generated`
/// writes it, from the table of endpoints, from the types of the answers, and from schemas.json beside it.
@Suite struct OpenAPITests {

    private typealias Object = [String: Any]

    private let document: Object

    init() throws {
        let file = Project.url(of: "Sources/Control/COpenAPI/openapi.json")
        document = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? Object)
    }

    private func object(_ path: String...) throws -> Object {
        var found = document
        for part in path { found = try #require(found[part] as? Object, "\(path)") }
        return found
    }

    private func resolved(_ value: Object) throws -> Object {
        guard let reference = value["$ref"] as? String else { return value }
        var found = document
        for part in reference.split(separator: "/").dropFirst() {
            found = try #require(found[String(part)] as? Object, "\(reference)")
        }
        return try resolved(found)
    }

    /// The methods of a path with their descriptions.
    private func operations(at path: String) throws -> [String: Object] {
        try object("paths", path).filter { $0.key != "parameters" }.compactMapValues {
            $0 as? Object
        }
    }

    private func concrete(_ path: String) -> String {
        path.replacingOccurrences(of: "{job}", with: "backup")
            .replacingOccurrences(of: "{message}", with: "1")
            .replacingOccurrences(of: "{notifier}", with: "ops")
            .replacingOccurrences(of: "{run}", with: "backup:20261121T043852.000000Z:1")
    }

    // MARK: - Paths

    @Test func eachPathIsDescribed_andNoOther() throws {
        #expect(try object("paths").keys.sorted() == EndpointTable.paths.sorted())
    }

    @Test(arguments: EndpointTable.paths)
    func eachMethodIsDescribed_andNoOther(path: String) throws {
        var described = Set(try operations(at: path).keys.map { $0.uppercased() })
        if described.contains("GET") { described.insert("HEAD") }
        described.insert("OPTIONS")
        #expect(try described == Set(ControlRequest.methods(at: concrete(path))))
    }

    /// The document has everything that the server knows, and nothing else.
    @Test(arguments: EndpointTable.paths)
    func eachParameterAndKeyIsDescribed_andNoOther(path: String) throws {
        for (method, operation) in try operations(at: path) {
            let parameters = (operation["parameters"] as? [Object]) ?? []
            let described = try parameters.map { try #require(try resolved($0)["name"] as? String) }
            let known = known(method, "\(concrete(path))?zzz=1", Self.smallest(operation))
            #expect(known?.sorted() == described.sorted(), "\(method) \(path)")
            guard let body = operation["requestBody"] as? Object else {
                #expect(method == "get", "a body may be left out: say so with EmptyBody")
                continue
            }
            let content = try #require(body["content"] as? Object)
            let media = try #require(content["application/json"] as? Object)
            let schema = try resolved(try #require(media["schema"] as? Object))
            #expect(
                Set(self.known(method, concrete(path), #"{"zzz": 1}"#) ?? [])
                    == Self.keys(of: schema), "\(method) \(path)")
        }
    }

    /// A valid body, so that the parameter causes the error.
    private static func smallest(_ operation: Object) -> String {
        guard let body = operation["requestBody"] as? Object, body["required"] as? Bool == true
        else { return "" }
        if "\(body)".contains("LoginBody") { return #"{"token": "x"}"# }
        return "\(body)".contains("FleetBody") ? #"{"verb": "hold"}"# : #"{"all": true}"#
    }

    private static func keys(of schema: Object) -> Set<String> {
        let alternatives = (schema["oneOf"] as? [Object]) ?? []
        return Set(((schema["properties"] as? Object) ?? [:]).keys).union(
            alternatives.flatMap { keys(of: $0) })
    }

    /// The parameters or keys that the error about an unknown one lists.
    private func known(_ method: String, _ path: String, _ body: String) -> [String]? {
        do throws(ControlRequest.Fault) {
            _ = try ControlRequest(
                method: method.uppercased(), path: path, body: Array(body.utf8))
            return nil
        } catch {
            switch error {
            case .unknownParameter(_, let known), .unknownKey(_, let known): return known
            default: return nil
            }
        }
    }

    // MARK: - Values

    /// The types that are written as JSON, by the names of their schemas. An answer that is not among them
    /// has the name of `DeclaredSchema`.
    static var types: [String: any Decodable.Type] {
        [
            "Job": JobStatus.self, "Policy": PolicyStatus.self, "Skip": SkipStatus.self,
            "Slots": SlotsReply.self, "Slot": SlotStatus.self, "SlotHolder": SlotHolder.self,
            "SlotUse": SlotUse.self, "Follow": FollowStatus.self,
            "Condition": ConditionStatus.self, "Excluded": ExcludedStatus.self,
            "Window": WindowStatus.self,
            "Pause": PauseStatus.self, "Run": RunStatus.self, "Daemon": DaemonStatus.self,
            "Why": WhyReply.self, "Reason": WhyReply.Reason.self, "Rejection": Rejection.self,
            "Runs": HistoryReply.self, "Log": LogReply.self, "Line": LogReply.Line.self,
            "Written": LogReply.Written.self, "Changed": CommandReply.self,
            "ChangedJobs": CommandsReply.self, "ChangedJob": CommandsReply.Result.self,
            "Killed": KillReply.self, "Reload": ReloadReply.self,
            "ReloadedJob": ReloadReply.Change.self, "Error": ErrorReply.self,
            "Upcoming": UpcomingReply.self, "UpcomingRun": UpcomingReply.Run.self,
            "Failures": Failures.self,
            "Failure": JobFailure.self, "NamedPause": NamedPause.self, "OneOffs": OneOffsReply.self,
            "Schedule": SchedulePreview.self, "RunDetails": RunReply.self,
            "LoginLink": LoginLinkReply.self, "Login": LoginReply.self,
            "Session": SessionReply.self, "Sessions": SessionsReply.self, "Web": WebReply.self,
            "SkippedRuns": SkippedRuns.self, "Recent": RecentReply.self,
            "Pauses": PausesReply.self, "PastPause": PastPauseStatus.self,
            "RecentRuns": RecentReply.Runs.self, "Days": DaysReply.self, "Day": DaysReply.Day.self,
            "Event": EventStatus.self, "Events": EventsFrame.self, "EventsGap": EventsGap.self,
            "EventsHello": EventsHello.self, "Notification": NotificationStatus.self,
            "Incident": IncidentStatus.self, "HeldNotifications": HeldNotifications.self,
            "HistoryDeletion": HistoryDeletion.self,
            "Message": MessageStatus.self, "Messages": NotificationsReply.self,
            "MessageRetry": MessageRetryReply.self, "Notifier": NotifierStatus.self,
            "Notifiers": NotifiersReply.self, "NotifierTest": NotifierTestReply.self,
            "Fleet": FleetReply.self, "FleetMachine": FleetReply.Machine.self,
            "FleetLoss": FleetReply.Loss.self,
            "FleetDone": FleetCommandReply.self, "FleetJob": FleetJobStatus.self,
            "FleetRun": FleetJobStatus.Run.self,
        ]
    }

    private func kind(_ schema: Object) throws -> String {
        if let reference = schema["$ref"] as? String {
            let name = String(reference.split(separator: "/").last ?? "")
            return Self.types[name] != nil ? name : try kind(resolved(schema))
        }
        if let items = schema["items"] as? Object { return "[\(try kind(items))]" }
        return try #require(schema["type"] as? String, "\(schema)")
    }

    @Test(arguments: types.keys.sorted())
    func eachMemberIsDescribed_andNoOther(name: String) throws {
        let schema = try object("components", "schemas", name)
        let properties = try #require(schema["properties"] as? [String: Object])
        let members = try Members(of: #require(Self.types[name])) { type in
            Self.types.first { $0.value == type }?.key
        }
        #expect(try properties.mapValues { try kind($0) } == members.kinds)
        #expect(Set((schema["required"] as? [String]) ?? []) == members.required)
        for (member, value) in properties {
            #expect(value["description"] is String, "\(name).\(member)")
        }
    }

    /// The types that read lists of jobs have a part of the members that are written.
    @Test func membersReadFromAJobAreDescribed() throws {
        let all = try Members(of: JobStatus.self) { "\($0)" }
        for type in [JobTable.Row.self, JobNames.Row.self] as [any Decodable.Type] {
            let some = try Members(of: type) { "\($0)" }
            #expect(some.kinds.allSatisfy { all.kinds[$0.key] == $0.value })
            #expect(some.required.isSubset(of: all.required))
        }
    }

    @Test func aMemberHasTheSameTypeWhereverItIs() throws {
        var kinds: [String: Set<String>] = [:]
        for name in Self.types.keys {
            let schema = try object("components", "schemas", name)
            for (member, value) in try #require(schema["properties"] as? [String: Object]) {
                kinds[member, default: []].insert(try kind(value))
            }
        }
        for (member, found) in kinds { #expect(found.count == 1, "\(member): \(found.sorted())") }
        for (member, found) in kinds where member.hasSuffix("_usec") {
            #expect(found == ["integer"], "\(member)")
        }
    }

    @Test func definedSchemasAreUsed() throws {
        let text = String(
            decoding: try JSONSerialization.data(
                withJSONObject: document, options: [.withoutEscapingSlashes]), as: UTF8.self)
        // Values that only timerctl prints are in no answer.
        let printed: Set = ["Failures", "Schedule"]
        for (kind, parts) in try object("components") {
            for name in try #require(parts as? Object).keys where !printed.contains(name) {
                #expect(text.contains("\"#/components/\(kind)/\(name)\""), "\(name)")
            }
        }
        let added = try JSONDecoder().decode(
            DocumentValue.self, from: Data(contentsOf: Project.url(of: OpenAPIDocument.frame)))
        for name in added.names("components", "schemas") where !name.hasSuffix("Body") {
            let isText = ["Instant", "GivenInstant", "Flag", "JobName", "RunID"].contains(name)
            #expect(isText || Self.types[name] != nil, "\(name) belongs to no type")
        }
    }

    @Test func theWordsAreThoseOfTheCode() throws {
        func words(_ schema: String, _ member: String) throws -> Set<String> {
            let members = try object("components", "schemas", schema, "properties", member)
            return Set(try #require(members["enum"] as? [String]))
        }
        #expect(
            try words("Policy", "on_missed") == Set(Policy.Missed.allCases.map(\.rawValue)))
        #expect(
            try words("Policy", "on_resume") == Set(Policy.Resume.allCases.map(\.rawValue)))
        #expect(
            try words("Policy", "concurrency")
                == Set(Policy.Concurrency.allCases.map(\.rawValue)))
        #expect(try words("Job", "count") == Set(TimeBasis.allCases.map(\.rawValue)))
        #expect(
            try words("Policy", "on_busy_slot") == Set(Policy.BusySlot.allCases.map(\.rawValue)))
        #expect(try words("Job", "dst_gap") == Set(DSTRule.Gap.allCases.map(\.rawValue)))
        #expect(try words("Job", "dst_overlap") == Set(DSTRule.Overlap.allCases.map(\.rawValue)))
        let signals = KillBody.signals.map(\.name)
        #expect(
            try words("KillBody", "signal") == Set(signals + signals.map { "SIG\($0)" }))
    }

    @Test func theLimitsAreThoseOfTheCode() throws {
        let limit = try object("paths", "/v1/runs", "get")["parameters"] as? [Object]
        let schema = limit?.first { $0["name"] as? String == "limit" }?["schema"] as? Object
        #expect(schema?["maximum"] as? Int == HistoryQuery.limitMax)
        let pause = try object("components", "schemas", "PauseBody", "properties", "for_usec")
        #expect(pause["maximum"] as? Int == Int(CommandBody.forUsecMax))
        let skips = try object("components", "schemas", "SkipNextBody", "properties", "count")
        #expect(skips["maximum"] as? Int == CommandBody.countMax)
        #expect(
            try object("components", "schemas", "JobName")["pattern"] as? String
                == "^[A-Za-z0-9_][A-Za-z0-9._@-]{0,\(Job.Name.lengthMax - 1)}$")
        #expect(try object("info")["version"] as? String == Timerctl.configuration.version)
    }
}
