// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TimerConfig

/// `timerd schema`: the JSON schema with which editors complete and check a configuration.
package struct SchemaCommand: ParsableCommand {
    package init() {}

    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Print the JSON Schema of a configuration file.",
        discussion: """
            Editors such as VS Code with Even Better TOML, or others with taplo, complete and check a file that begins \
            with: #:schema file:///usr/share/timerd/timerd.schema.json
            """)

    func run() { print(ConfigReader.schema, terminator: "") }
}
