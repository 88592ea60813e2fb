// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// Options with a time or a span of time. A value that cannot be parsed ends the program with
/// status 2.
enum TimeOption {
    /// - Parameter option: the option in the command line, such as `--until`, for the error.
    static func instant(
        _ option: String, _ text: String, _ sense: TimeParser.Sense,
        by times: TimeParser = TimeParser(now: Terminal.now)
    ) throws -> WallInstant {
        do throws(TimeParserError) { return try times.parse(text, as: sense) } catch {
            throw Connection.fail(2, error.text(option: option, value: text))
        }
    }

    static func span(
        _ option: String, _ text: String, in range: ClosedRange<Duration>
    ) throws -> Duration {
        do throws(TimeParserError) { return try TimeParser.span(text, in: range) } catch {
            throw Connection.fail(2, error.text(option: option, value: text))
        }
    }
}
