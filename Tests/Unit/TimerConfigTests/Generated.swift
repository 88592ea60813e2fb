// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProjectFiles
import Testing

/// Expects that a file of the project has this text. `make generated` writes it instead.
func expectGenerated(_ text: String, in file: String) throws {
    if ProcessInfo.processInfo.environment["TIMERD_GENERATE"] != nil {
        return try Data(text.utf8).write(to: Project.url(of: file))
    }
    let (found, wanted) = (
        try Project.text(of: file).components(separatedBy: "\n"), text.components(separatedBy: "\n")
    )
    guard found != wanted else { return }
    let line = zip(found, wanted).prefix { $0 == $1 }.count
    let (old, new) = (found.dropFirst(line).first ?? "", wanted.dropFirst(line).first ?? "")
    Issue.record(
        "\(file):\(line + 1) is \"\(old)\" and must be \"\(new)\"; run `make generated`")
}
