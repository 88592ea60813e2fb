// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Project {
    /// Why a file is not this text, which a program makes of its declarations; nil if it is.
    /// `make generated` writes the text instead.
    public static func difference(of file: String, from text: String) throws -> String? {
        if ProcessInfo.processInfo.environment["TIMERD_GENERATE"] != nil {
            try Data(text.utf8).write(to: url(of: file))
            return nil
        }
        let found = try self.text(of: file).components(separatedBy: "\n")
        let wanted = text.components(separatedBy: "\n")
        guard found != wanted else { return nil }
        let line = zip(found, wanted).prefix { $0 == $1 }.count
        let (old, new) = (found.dropFirst(line).first ?? "", wanted.dropFirst(line).first ?? "")
        return "\(file):\(line + 1) is \"\(old)\" and must be \"\(new)\"; run `make generated`"
    }
}
