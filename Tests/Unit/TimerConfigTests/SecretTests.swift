// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Testing
import TimerCore

@testable import TimerConfig

/// Errors and warnings are in the journal and in answers of the API, which users can read who cannot read the file: they
/// contain nothing that may be a secret.
@Suite struct SecretTests {
    private static let job = "[job.j]\nevery = \"1h\"\nshell = \"true\"\n"

    /// A configuration with an error at, or beside, each kind of value that can be a secret.
    @Test(arguments: [
        // Addresses.
        "[notify.x]\nwebhook = \"http://hooks.example.org/services/T0/TOPSECRET\"",
        "[notify.x]\nwebhook = \"https://hooks.example.org/TOPSECRET\\n\"",
        "[notify.x]\nwebhok = \"https://hooks.example.org/TOPSECRET\"",
        "[notify.x]\nping = \"ftp://TOPSECRET\"",
        "[notify.x]\nping = [\"https://hc.example/TOPSECRET\"]",
        "[notify.x]\nwebhook = \"https://u:TOPSECRET@a/\"\nformat = \"kuma\"",
        "[notify.x]\nwebhook = \"https://a/TOPSECRET\"\nwebhook = \"https://a/TOPSECRET\"",
        "[notify.x]\nurl-credential = \"https://hooks.example.org/TOPSECRET\"\nformat = \"json\"",
        "[notify.x]\nmail = \"https://hooks.example.org/TOPSECRET\"",
        "[notify.x]\nmail = \"https://TOPSECRET/ü\"",
        "[notify.x]\nmail = \"a\"\nmail-from = \"<TOPSECRET>\"",
        "[notify.x]\nmail = \"a\"\nsendmail = \"sendmail -p TOPSECRET\"",
        "[notify.x]\nwebhook = \"https://a.b\"\nproxy = \"http://u:TOPSECRET@p:1\"",
        "[notify.x]\nwebhook = \"https://a.b\"\nproxy = \"TOPSECRET\"",
        "webhook = \"https://hooks.example.org/TOPSECRET\"",
        "[notify]\nx = \"https://hooks.example.org/TOPSECRET\"",
        "\(job)notify = [\"https://hooks.example.org/TOPSECRET\"]",
        "\(job)notify = \"https://hooks.example.org/TOPSECRET\"",
        // What is not TOML.
        "[notify.x]\nwebhook = https://hooks.example.org/TOPSECRET",
        "[notify.x]\nwebhook = \"https://hooks.example.org/TOPSECRET",
        "[notify.x]\nwebhook = \"https://hooks.example.org/TOPSECRET\nmail = \"a\"",
        "[notify.x]\nwebhook = 'https://hooks.example.org/TOPSECRET\"",
        "[notify.x]\nwebhook \"https://hooks.example.org/TOPSECRET\"",
        "[notify.x]\nwebhook = \"a\" TOPSECRET",
        "\(job)stdin = trueTOPSECRET", "\(job)stdin = falseTOPSECRET",
        "\(job)stdin = infTOPSECRET", "\(job)stdin = 12TOPSECRET", "\(job)stdin = 0xTOPSECRET",
        "\(job)stdin = 1979-05-27TTOPSECRET", "\(job)stdin = \"\\qTOPSECRET\"",
        "\(job)stdin = TOPSECRET", "\(job)stdin = \"\"\"TOPSECRET", "\(job)stdin = [TOPSECRET]",
        // The environment, the standard input and the command.
        "\(job)environment = { TOKEN = [\"TOPSECRET\"] }",
        "\(job)environment = { \"TOKEN=TOPSECRET\" = \"\" }",
        "\(job)environment = { TIMERD_X = \"TOPSECRET\" }",
        "\(job)environment = \"TOKEN=TOPSECRET\"",
        "\(job)environmnt = { TOKEN = \"TOPSECRET\" }",
        "\(job)pass-environment = [\"TOKEN=TOPSECRET\"]",
        "\(job)run-environment = [\"RUN_TOKEN=TOPSECRET\"]",
        "\(job)run-environment-any = [\"TOKEN=TOPSECRET\"]",
        "\(job)environment-file = \"TOKEN=TOPSECRET\"",
        "\(job)stdin = [\"TOPSECRET\"]", "\(job)stdinn = \"TOPSECRET\"",
        "[job.j]\nevery = \"1h\"\ncommand = \"curl -u me:TOPSECRET https://a.b\"",
        "[job.j]\nevery = \"1h\"\nshell = [\"curl -u me:TOPSECRET\"]",
        "[job.j]\nevery = \"1h\"\nshel = \"curl -u me:TOPSECRET\"",
        "[defaults]\nenvironment = { TOKEN = [\"TOPSECRET\"] }\n\(job)",
        "[defaults]\nenv = { TOKEN = \"TOPSECRET\" }\n\(job)",
        // Credentials and passwords.
        "\(job)credentials = { TOKEN = \"TOPSECRET\" }",
        "\(job)credentials = { \"a TOPSECRET\" = \"/x\" }",
        "\(job)credentials = { TOKEN = [\"TOPSECRET\"] }",
        "[fleet]\nname = \"a\"\netcd = [\"https://root:TOPSECRET@10.0.0.1:2379\"]",
        "[fleet]\nname = \"a\"\netcd = [\"http://root:TOPSECRET@10.0.0.1:2379\"]\nca = \"/x\"",
        "[fleet]\nname = \"a\"\netcd = [\"https://10.0.0.1:2379\"]\nuser = \"a\"\npassword = \"TOPSECRET\"",
        "[fleet]\nname = \"a\"\netcd = [\"https://10.0.0.1:2379\"]\nuser = \"a\"\npassword-file = \"TOPSECRET\"",
        "[web]\nhosts = [\"https://me:TOPSECRET@jobs.example.org\"]",
        "[web]\ntokens = [\"TOPSECRET\"]",
    ])
    func noMessageContainsASecret(text: String) {
        var messages: [String] = []
        var quoted: [String] = []
        do throws(ConfigError) {
            let reading = try ConfigReader.read(Array(text.utf8), file: "t.toml")
            messages = reading.errors.map(\.description) + reading.warnings.map(\.description)
            quoted = reading.errors.map(\.quotingLine)
        } catch {
            messages = [error.description]
            quoted = [error.quotingLine]
        }
        #expect(!messages.isEmpty, "this has no error: \(text)")
        for message in messages {
            #expect(!message.contains("SECRET"), "\(message)")
            #expect(message.hasPrefix("t.toml:") && !message.contains("\n"), "\(message)")
        }
        // Who may read the file is shown the line.
        #expect(quoted.contains { $0.contains("\n  ") && $0.hasSuffix("^") }, "\(quoted)")
    }

    /// A number that is too large is quoted by the parser.
    @Test(arguments: [
        "99999999999999999999", "0xfffffffffffffffff", "1e99999", "0o7777777777777777777777777",
    ])
    func noNumberIsRepeated(number: String) {
        let error = #expect(throws: ConfigError.self) {
            try ConfigReader.read(Array("\(Self.job)stdin = \(number)".utf8), file: "t.toml")
        }
        guard let error else { return }
        #expect(!error.description.contains(number.suffix(8)), "\(error)")
    }

    @Test(arguments: [
        (
            "a: '12x' could not be interpreted as a value",
            "a: this number could not be interpreted as a value"
        ),
        (
            "a: '0x1' is not representable in 64 bits",
            "a: this number is not representable in 64 bits"
        ),
        ("expected 'true', saw 'trash'", "expected 'true'"),
        ("expected digit, saw 'x'", "expected digit, saw 'x'"),
        ("expected 'x', saw '\\n'", "expected 'x', saw '\\n'"),
        ("cannot redefine existing string 'a.b'", "cannot redefine existing string 'a.b'"),
    ])
    func theParsersMessagesLoseTheirValues(message: String, expected: String) {
        #expect(Toml.withoutValue(message) == expected)
    }
}
