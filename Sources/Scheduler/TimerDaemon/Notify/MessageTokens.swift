// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// How many messages a notifier may send by its limit `per-hour`: each message takes a token, and tokens come back
/// evenly, so that no burst of messages silences the notifier for the rest of the hour.
///
/// About half of the messages of an hour can be sent at once, so that never more than `per-hour` are sent in any hour.
/// Some tokens are kept for what begins an incident.
struct MessageTokens {
    let perHour: Int
    /// The most tokens, which can be used in a burst.
    let most: Int
    /// How long it takes until there is one more.
    let interval: Duration
    /// How many of them only the begin of an incident may take.
    let reserve: Int
    /// The tokens as the time that it took to get them, as of `asOf`.
    private var credit: Duration
    private var asOf: AwakeInstant

    /// All tokens of a notifier.
    ///
    /// - Parameter perHour: at least 1.
    init(perHour: Int, at now: AwakeInstant) {
        self.perHour = perHour
        most = (perHour + 1) / 2
        // With all tokens and those that come back, the last one at the end of the hour, it is `perHour`.
        interval = Outbox.hour / (perHour - most + 1)
        reserve = most == 1 ? 0 : max(1, most / 4)
        credit = interval * most
        asOf = now
    }

    /// The tokens that are left after messages at these instants, the earliest first.
    init(perHour: Int, after messages: [AwakeInstant], at now: AwakeInstant) {
        self.init(perHour: perHour, at: messages.first ?? now)
        for message in messages { consume(at: message) }
    }

    /// Takes a token; without one, does nothing.
    mutating func consume(at now: AwakeInstant) {
        if now > asOf { (credit, asOf) = (min(interval * most, credit + (now - asOf)), now) }
        credit = max(.zero, credit - interval)
    }

    /// When there are so many tokens, if none is taken before; an instant that has passed if there are.
    ///
    /// - Parameter count: at most `most`, or the instant will not come.
    func time(of count: Int) -> AwakeInstant {
        let missing = interval * count - credit
        return missing > .zero ? asOf + missing : asOf
    }

    /// How many there must be for a message.
    func need(isUrgent: Bool) -> Int { isUrgent ? 1 : 1 + reserve }
}
