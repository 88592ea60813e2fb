// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerJSON

extension ConfigReader {
    /// The JSON Schema (draft 7) of all keys with their meaning, for editors. The text ends with a
    /// newline.
    public static var schema: String { ConfigSchema.whole.text() + "\n" }
}

/// The JSON Schema of a configuration file, generated from the keys that the reader knows.
enum ConfigSchema {
    static var whole: JSONValue {
        .object([
            ("$schema", .string("http://json-schema.org/draft-07/schema#")),
            ("title", .string("timerd.toml")),
            ("description", .string("The configuration of timerd, and each file of its jobs.d.")),
            ("type", .string("object")),
            ("additionalProperties", .boolean(false)),
            (
                "properties",
                .object(
                    SettingsTable.all.map { ($0.name, table($0.help, $0.keys.map(member))) } + [
                        (
                            "defaults",
                            table(
                                "Default values for the jobs of this file, and in the main file for those of all files.",
                                JobKey.all.filter(\.isDefault).map(jobMember))
                        ),
                        ("job", jobs),
                        ("notify", notifiers),
                        ("slot", slots),
                        ("dates", dates),
                    ])
            ),
        ])
    }

    private static var jobs: JSONValue {
        named(
            "The jobs, by their names.", members(of: "A job.", JobKey.all.map(jobMember)),
            [oneOf(JobKey.commands), oneOf(JobKey.schedules)],
            // The table of an instance has only the keys that are others than in its template, which need
            // not have those that each instance has.
            others: ("@", members(of: "A job.", JobKey.all.map(jobMember))))
    }

    private static var notifiers: JSONValue {
        named(
            "How messages about jobs are sent, by the names that jobs give in notify.",
            members(of: "A notifier.", NotifierKey.all.map(member)), [oneOf(NotifierKey.transports)]
        )
    }

    private static var slots: JSONValue {
        named(
            "Limits on how many runs are active at the same time, by the names that jobs give in slots.",
            members(of: "A slot.", SlotDraft.keys.map(member))
                + [("required", .array([.string("max")]))], [])
    }

    private static var dates: JSONValue {
        named(
            "Lists of dates such as holidays, by the names that jobs give in except and only-on.",
            members(of: "A list of dates.", DatesDraft.keys.map(member)),
            [oneOf(DatesDraft.keys.map(\.name))])
    }

    /// The schema of a table whose keys are names, each with a table of one kind.
    ///
    /// - Parameter others: the pattern of names with tables to which the rules do not apply.
    private static func named(
        _ help: String, _ one: [(String, JSONValue)], _ rules: [JSONValue],
        others: (names: String, members: [(String, JSONValue)])? = nil
    ) -> JSONValue {
        .object(
            [
                ("type", .string("object")),
                ("description", .string(help)),
                ("propertyNames", .object([("pattern", .string(ValueShape.name))])),
            ]
                + (others.map {
                    [("patternProperties", .object([($0.names, .object($0.members))]))]
                }
                    ?? [])
                + [
                    (
                        "additionalProperties",
                        .object(one + (rules.isEmpty ? [] : [("allOf", .array(rules))]))
                    )
                ])
    }

    /// The rule that exactly one of these keys is there.
    private static func oneOf(_ names: [String]) -> JSONValue {
        .object([
            (
                "oneOf",
                .array(names.map { .object([("required", .array([.string($0)]))]) })
            )
        ])
    }

    private static func table(
        _ help: String, _ properties: [(String, JSONValue)]
    ) -> JSONValue { .object(members(of: help, properties)) }

    private static func members(
        of help: String, _ properties: [(String, JSONValue)]
    ) -> [(String, JSONValue)] {
        [
            ("type", .string("object")), ("description", .string(help)),
            ("additionalProperties", .boolean(false)), ("properties", .object(properties)),
        ]
    }

    /// A key of a job, some of which can be `"none"` instead of a default.
    private static func jobMember(_ key: JobKey) -> (String, JSONValue) {
        member(key, key.isRemoved ? .either(key.schema, .words([JobKey.none])) : key.schema)
    }

    private static func member<Target>(_ key: Key<Target>) -> (String, JSONValue) {
        member(key, key.schema)
    }

    private static func member<Target>(
        _ key: Key<Target>, _ shape: ValueShape
    ) -> (String, JSONValue) {
        (
            key.name,
            .object(
                [("description", .string(key.help))] + shape.schema
                    + (key.standard().map { [("default", $0)] } ?? []))
        )
    }
}
