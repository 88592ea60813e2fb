// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
    /// Whether it is part of a text on one line: neither a control character, nor one that is not seen or
    /// ends a line, nor one whose meaning nobody knows.
    package var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
            .paragraphSeparator:
            false
        default: true
        }
    }
}
