// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore
import TimerZones

/// Options that take a time or a span of time. What cannot be read ends the program with status 2.
enum TimeOption {
    /// - Parameter option: how the user wrote it, such as `--until`, for the error.
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
