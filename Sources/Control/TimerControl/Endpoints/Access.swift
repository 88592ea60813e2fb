// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Who may use an endpoint. Each row of the table says it, and nothing else decides about rights.
public enum Access: Sendable, CaseIterable {
    /// Everyone who may connect to the control socket; over the web server, each user who is logged
    /// in and each program with a token.
    case readers
    /// Everyone who may connect to the control socket, and no client of the web server.
    case readersAtSocket
    /// Root, the daemon's own user and the operators of the configuration.
    case operators
    /// The same, but no client of the web server.
    case operatorsAtSocket
    /// Everyone who may connect to the control socket for what is their own, as the body says, and
    /// operators for what belongs to others; no client of the web server.
    case ownersAtSocket
    /// Everyone; over the web server each session, whatever its user may do by now.
    case sessions
    /// Everyone; over the web server also before a user is logged in.
    case beforeLogin

    /// Whether it may come from a browser by way of the web server.
    public var isForBrowsers: Bool {
        switch self {
        case .readers, .operators, .sessions, .beforeLogin: true
        case .readersAtSocket, .operatorsAtSocket, .ownersAtSocket: false
        }
    }

    /// Whether each request needs the right to change things.
    public var isForOperators: Bool { self == .operators || self == .operatorsAtSocket }
}

/// A body that may be about what belongs to others.
protocol OwnedBody {
    var isOfOthers: Bool { get }
}
