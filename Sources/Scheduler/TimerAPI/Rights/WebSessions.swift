// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import TimerHTTP

/// Who is logged in to the status page: links that begin a session once, and sessions. All of them are in memory alone,
/// and end with the daemon.
///
/// Times are nanoseconds of a clock that never runs backwards and counts while the machine sleeps.
struct SessionTable {
    static let second: UInt64 = 1_000_000_000
    /// How long a link can be used, in nanoseconds: one minute.
    static let linkTime = 60 * second
    /// How long after its last request a session ends, and after its beginning.
    static let idleTime = 12 * 3600 * second
    static let sessionTime = 7 * 86_400 * second
    /// The most links of one user, and of all; the same for sessions.
    static let userLinksMax = 8
    static let linksMax = 256
    static let userSessionsMax = 16
    static let sessionsMax = 256

    /// A link that was made and not used.
    private struct Link {
        var peer: Peer
        var made: UInt64

        func isUsable(at now: UInt64) -> Bool { now < made + linkTime }
    }

    private struct Session {
        var peer: Peer
        var begun: UInt64
        var lastUsed: UInt64

        var end: UInt64 { min(lastUsed + idleTime, begun + sessionTime) }

        func left(at now: UInt64) -> UInt64 { end - min(now, end) }
    }

    /// A valid session, for a request that has its key.
    struct Found: Equatable {
        var peer: Peer
        /// For how many nanoseconds it goes on without a further request.
        var left: UInt64
    }

    /// The most log entries about links and logins of one user in a minute, so that no user can
    /// fill the log with them.
    static let entriesMax = 20
    static let entriesTime = 60 * second

    private let makeKey: () -> String
    /// Of each user, when the current minute of log entries began, and how many there were.
    private var entries: [UInt32: (began: UInt64, count: Int)] = [:]
    private var links: [String: Link] = [:]
    private var sessions: [String: Session] = [:]

    /// - Parameter makeKey: makes a key that cannot be guessed, each time another.
    init(makeKey: @escaping () -> String = SessionTable.randomKey) { self.makeKey = makeKey }

    var count: (links: Int, sessions: Int) { (links.count, sessions.count) }

    /// Makes a link that begins a session with the rights of this peer. The oldest link of a user with too many ends.
    ///
    /// - Returns: its token; nil if other users have too many links.
    /// - Complexity: O(*n*) in the number of links, which is bounded.
    mutating func makeLink(for peer: Peer, at now: UInt64) -> String? {
        links = links.filter { $0.value.isUsable(at: now) }
        let own = links.filter { $0.value.peer.uid == peer.uid }
        if own.count >= Self.userLinksMax,
            let oldest = own.min(by: { $0.value.made < $1.value.made })
        {
            links[oldest.key] = nil
        }
        guard links.count < Self.linksMax else { return nil }
        let token = makeKey()
        links[token] = Link(peer: peer, made: now)
        return token
    }

    /// Uses a link, which is then removed. If its user has too many sessions, the least recently used one ends.
    ///
    /// - Returns: the key of the session; nil if there is no such link, or it has expired.
    /// - Complexity: O(*n*) in the number of sessions, which is bounded.
    mutating func begin(_ token: String, at now: UInt64) -> (key: String, found: Found)? {
        guard let link = links.removeValue(forKey: token), link.isUsable(at: now) else {
            return nil
        }
        sessions = sessions.filter { now < $0.value.end }
        let own = sessions.filter { $0.value.peer.uid == link.peer.uid }
        let crowd = own.count >= Self.userSessionsMax ? own : sessions
        if own.count >= Self.userSessionsMax || sessions.count >= Self.sessionsMax,
            let oldest = crowd.min(by: { $0.value.lastUsed < $1.value.lastUsed })
        {
            sessions[oldest.key] = nil
        }
        let key = makeKey()
        var peer = link.peer
        peer.origin = .session(key)
        let session = Session(peer: peer, begun: now, lastUsed: now)
        sessions[key] = session
        return (key, Found(peer: peer, left: session.left(at: now)))
    }

    /// The session with this key, and notes that it is used; nil if there is none, or it has expired.
    mutating func use(_ key: String, at now: UInt64) -> Found? {
        guard var session = sessions[key] else { return nil }
        guard now < session.end else {
            sessions[key] = nil
            return nil
        }
        session.lastUsed = now
        sessions[key] = session
        return Found(peer: session.peer, left: session.left(at: now))
    }

    /// Ends one session.
    ///
    /// - Returns: whether there was one.
    mutating func end(_ key: String) -> Bool { sessions.removeValue(forKey: key) != nil }

    /// How many sessions and links a command has ended.
    struct Ended: Hashable {
        var sessions: Int
        var links: Int
    }

    /// Ends all sessions and links of these users.
    mutating func revoke(at now: UInt64, _ isMeant: (Peer) -> Bool) -> Ended {
        let (beforeSessions, beforeLinks) = (
            sessions.filter { now < $0.value.end }, links.filter { $0.value.isUsable(at: now) }
        )
        links = beforeLinks.filter { !isMeant($0.value.peer) }
        sessions = beforeSessions.filter { !isMeant($0.value.peer) }
        return Ended(
            sessions: beforeSessions.count - sessions.count,
            links: beforeLinks.count - links.count)
    }

    /// Whether a link or a login of this user gets a log entry; counts it.
    /// - Complexity: O(*n*) in the number of users who had one within the last minute.
    mutating func mayLog(_ uid: UInt32, at now: UInt64) -> Bool {
        entries = entries.filter { now < $0.value.began + Self.entriesTime }
        entries[uid, default: (now, 0)].count += 1
        return entries[uid].map { $0.count <= Self.entriesMax } ?? false
    }

    /// 256 bits from the kernel (getrandom(2)), as 43 letters, digits, `-` and `_`.
    static func randomKey() -> String {
        var random = SystemRandomNumberGenerator()
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var bits: [UInt8] = []
        for _ in 0..<4 {
            let word = random.next()
            bits += (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        }
        bits.append(0)
        // Three bytes are four digits; there is no padding.
        let text = stride(from: 0, to: bits.count, by: 3).flatMap { place -> [UInt8] in
            let value =
                UInt32(bits[place]) << 16 | UInt32(bits[place + 1]) << 8
                | UInt32(bits[place + 2])
            return [18, 12, 6, 0].map { digits[Int(value >> $0 & 63)] }
        }
        return String(decoding: text.prefix(Credentials.keyLength), as: UTF8.self)
    }
}

/// The sessions of the status page, for all threads.
package final class WebSessions: Sendable {
    private let table: Mutex<SessionTable>
    private let programs: ProgramTokens
    private let now: @Sendable () -> UInt64

    /// - Parameter now: nanoseconds of a clock that counts while the machine sleeps.
    package init(
        programs: ProgramTokens = ProgramTokens(),
        now: @escaping @Sendable () -> UInt64 = WebSessions.clock
    ) {
        table = Mutex(SessionTable())
        self.programs = programs
        self.now = now
    }

    func makeLink(for peer: Peer) -> String? {
        table.withLock { $0.makeLink(for: peer, at: now()) }
    }

    func begin(_ token: String) -> (key: String, found: SessionTable.Found)? {
        table.withLock { $0.begin(token, at: now()) }
    }

    /// The peer with these credentials; nil if they are not valid.
    func peer(of credentials: Credentials) -> Peer? {
        switch credentials {
        case .none: nil
        case .session(let key): find(key)?.peer
        case .token(let token): programs.peer(of: token)
        }
    }

    func find(_ key: String) -> SessionTable.Found? {
        table.withLock { $0.use(key, at: now()) }
    }

    /// Whether a link or a login of this user gets a log entry.
    func mayLog(_ uid: UInt32) -> Bool { table.withLock { $0.mayLog(uid, at: now()) } }

    func end(_ key: String) -> Bool { table.withLock { $0.end(key) } }

    func revoke(_ isMeant: @Sendable (Peer) -> Bool) -> SessionTable.Ended {
        table.withLock { $0.revoke(at: now(), isMeant) }
    }

    static let clock: @Sendable () -> UInt64 = {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
