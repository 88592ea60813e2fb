// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

@testable import TimerConfig

/// The JSON Schema for editors, against the reader of the configuration.
@Suite struct ConfigSchemaTests {
    private struct Schema: Decodable {
        var properties: Tables

        struct Tables: Decodable {
            var daemon: Table
            var control: Table
            var web: Table
            var metrics: Table
            var fleet: Table
            var defaults: Table
            var job: Jobs
        }

        struct Jobs: Decodable {
            var additionalProperties: Table
        }

        struct Table: Decodable {
            var additionalProperties: Bool
            var properties: [String: Key]
        }

        struct Key: Decodable {
            var description: String
        }
    }

    private func schema() throws -> Schema {
        try JSONDecoder().decode(Schema.self, from: Data(ConfigReader.schema.utf8))
    }

    @Test func hasEachKeyWhereItMayBe_withASentence() throws {
        let tables = try schema().properties
        let (daemon, job) = ConfigReader.knownKeys
        #expect(tables.daemon.properties.keys.sorted() == daemon.sorted())
        #expect(tables.job.additionalProperties.properties.keys.sorted() == job.sorted())
        #expect(tables.defaults.properties.keys.sorted() == JobKey.defaultNames.sorted())
        let others = [tables.control, tables.web, tables.metrics, tables.fleet]
        #expect(
            others.map { $0.properties.keys.sorted() }
                == ConfigReader.settingsTables.prefix(4).map { $0.keys.sorted() })
        for table in [tables.daemon, tables.defaults, tables.job.additionalProperties] + others {
            #expect(!table.additionalProperties)
            for (name, key) in table.properties {
                #expect(key.description.hasSuffix("."), "\(name)")
            }
        }
    }

    /// Values of every kind, as TOML; most JSON values are valid TOML, too.
    private static let samples = [
        "1", "0", "-1", "100000000000", "1.5", "true", "\"\"", "\"x\"", "\"1h\"", "\"none\"",
        "\"infinity\"", "\"64KiB\"", "\"0022\"", "\"/x\"", "\"-/x\"", "\"*:0/5\"",
        "\"*/5 * * * *\"", "\"2026-12-24T18:00:00Z\"", "\"UTC\"", "\"backup\"", "\"@staff\"",
        "\"allow\"", "\"skip\"", "\"both\"", "\"wall\"", "\"failures\"", "\"restart\"",
        "\"run-all\"",
        "\"system_u:system_r:a_t:s0\"", "[]", "[0]", "[0, 255]", "[\"x\"]",
        "[\"@daily\", \"* * * * *\"]",
        "[\"CAP_KILL\"]", "[\"*:*\"]", "[1, \"x\"]", "{}", "{ A = \"x\" }", "{ A = 1 }",
        "{ a = \"/x\" }",
        "{ nofile = 5 }", "{ core = \"infinity\" }", "{ cpu = \"1min\" }", "{ nofile = \"1G\" }",
        "{ \"a b\" = \"/x\" }",
    ]

    /// One configuration, and whether the reader accepts it.
    private struct Sample: Encodable {
        var toml: String
        var isGood: Bool

        init(_ toml: String) throws {
            self.toml = toml
            let reading = try ConfigReader.read(Array(toml.utf8), file: "t.toml")
            isGood = reading.errors.isEmpty
        }
    }

    private func samples() throws -> [Sample] {
        var texts: [String] = []
        for value in Self.samples {
            for table in SettingsTable.all {
                texts += table.keys.map { "[\(table.name)]\n\($0.name) = \(value)\n" }
            }
            texts += NotifierKey.all.map { key in
                let mail = NotifierKey.transports.contains(key.name) ? "" : "mail = \"x\"\n"
                return "[notify.a]\n\(mail)\(key.name) = \(value)\n"
            }
            for key in JobKey.all {
                let command = JobKey.commands.contains(key.name) ? "" : "shell = \"true\"\n"
                let schedule = JobKey.schedules.contains(key.name) ? "" : "every = \"1h\"\n"
                texts.append("[job.a]\n\(command)\(schedule)\(key.name) = \(value)\n")
            }
        }
        texts += JobKey.all.map { "[defaults]\n\($0.name) = \"1h\"\n" }
        texts += [
            "", "[x]\n", "x = 1\n", "job = 1\n", "[job]\n", "[daemon]\nx = 1\n",
            "[metrics]\nx = 1\n",
            "[defaults]\nx = 1\n", "[notify.a]\nmail = \"x\"\nx = 1\n", "[notify.a]\n",
            "[notify.a]\nmail = \"x\"\nwebhook = \"https://x/\"\n", "[notify]\n",
            "[job.a]\nshell = \"x\"\nevery = \"1h\"\nx = 1\n", "[job.a]\nshell = \"x\"\n",
            "[job.\"a@\"]\nshell = \"x\"\ninstances = [\"b\"]\n[job.\"a@b\"]\nevery = \"1h\"\n",
            "[job.\"a@\"]\nshell = \"x\"\nevery = \"1h\"\ninstances = []\n",
            "[job.\"-a\"]\nshell = \"x\"\nevery = \"1h\"\n", "[job.a]\nevery = \"1h\"\n",
            "[job.a]\nshell = \"x\"\ncommand = [\"x\"]\nevery = \"1h\"\n",
            "[job.a]\nshell = \"x\"\nafter = \"1h\"\nevery = \"1h\"\n",
        ]
        return try texts.map { try Sample($0) }
    }

    private static let python = "/usr/bin/env"

    private static func run(_ script: String, _ arguments: [String]) -> (
        status: Int32, text: String
    ) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["python3", "-W", "ignore", "-c", script] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        do { try process.run() } catch { return (-1, "\(error)") }
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    private static let hasValidator = run("import jsonschema, tomllib", []).status == 0

    /// An editor must not mark valid text. It marks only errors, though not every error.
    @Test(.enabled(if: hasValidator, "needs python3 with jsonschema"))
    func acceptedConfigurationsAreValid_andUnknownKeysAndOtherTypesAreNot() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("timerd-schema-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (schema, samples) = (
            folder.appendingPathComponent("schema.json"),
            folder.appendingPathComponent("samples.json")
        )
        try Data(ConfigReader.schema.utf8).write(to: schema)
        let all = try self.samples()
        #expect(all.count { $0.isGood } > 200)
        try JSONEncoder().encode(all).write(to: samples)
        let shipped = Project.url(of: "config/timerd.toml").path
        let found = Self.run(Self.script, [schema.path, samples.path, shipped])
        #expect(found.status == 0, "\(found.text)")
        // Most errors are found: all unknown keys and all wrong types.
        let words = found.text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        #expect(words.count == 2 && words[0] / words[1] > 0.9, "\(found.text)")
    }

    private static let script = """
        import json, re, sys, tomllib
        from jsonschema import Draft7Validator
        schema = json.load(open(sys.argv[1]))
        Draft7Validator.check_schema(schema)
        check = Draft7Validator(schema)
        bad = seen = 0
        for one in json.load(open(sys.argv[2])):
            valid = check.is_valid(tomllib.loads(one["toml"]))
            if one["isGood"] and not valid:
                sys.exit("right, and marked: " + one["toml"])
            bad += not one["isGood"]
            seen += not one["isGood"] and not valid
        text = open(sys.argv[3]).read()
        for error in check.iter_errors(tomllib.loads(text)):
            sys.exit("the shipped configuration: " + str(error))
        table, keys = None, 0
        for line in text.split("\\n"):
            if re.match(r"#?\\[", line): table = line.strip("#[]").split(".")[0]
            match = re.match(r"#?([a-z-]+) = (.*)", line)
            if not match: continue
            value = tomllib.loads("x = " + match.group(2))["x"]
            kind = schema["properties"][table]
            if table in ("job", "notify", "slot", "dates"): kind = kind["additionalProperties"]
            for error in Draft7Validator(kind["properties"][match.group(1)]).iter_errors(value):
                sys.exit("the shipped " + line + ": " + str(error))
            keys += 1
        assert keys > 50, keys
        print(seen, bad)
        """
}
