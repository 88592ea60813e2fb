// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CCurl
import TimerCore
public import TimerFleet
import TimerJSON

/// What a watch reports, in the order of the revisions.
public enum WatchEvent: Sendable {
    /// The watch exists: from now on each change is reported.
    case created(EtcdReceipt)
    /// The changes of one revision. Nil: the key was deleted.
    case changed(cluster: String, revision: Int64, FleetAnswer.Reads)
    /// There are no other changes up to this revision.
    case progress(Int64)
    /// A key below the prefix of the fleet was changed that is none of its keys.
    case unknownKey(String)
}

/// Why a watch ended, and what the caller must do before the next one.
public enum WatchEnd: Sendable {
    /// The function that was called wanted no more.
    case stopped
    /// The next revision is not kept any more: all keys must be read again.
    case compacted
    /// It failed, or was cancelled.
    case failed(EtcdError)
}

extension EtcdClient {
    /// Reports all changes of the fleet's keys from a revision on, until the function returns false
    /// or the watch ends. It never waits for longer than `silenceMax` for the next message.
    ///
    /// etcd reports progress only each ten minutes, and says nothing if the connection is cut. The
    /// fleet clock, which is written each two seconds, is what the silence is measured by.
    ///
    /// - Parameters:
    ///   - revision: the first one that is reported.
    ///   - silenceMax: how long the stream may be silent; nil: for ever.
    ///   - handle: is called in this thread, and must not use the client.
    public func watch(
        from revision: Int64, silenceMax: Duration?, _ handle: (WatchEvent) -> Bool
    ) -> WatchEnd {
        do throws(EtcdError) {
            // Which endpoint follows is decided only until the watch exists.
            let end = Self.deadline(after: options.timeout)
            let stream = try askEach(until: end, isRepeatable: true) {
                endpoint, deadline throws(EtcdError) in
                // With an expired login, etcd says that a watch is not permitted.
                try self.withLogin(
                    at: endpoint, until: deadline, expired: [.tokenExpired, .notPermitted]
                ) { token throws(EtcdError) in
                    try self.open(from: revision, token: token, at: endpoint, until: deadline)
                }
            }
            defer { connection.finish() }
            return try follow(stream, silenceMax: silenceMax, handle)
        } catch {
            return error.code == .compacted ? .compacted : .failed(error)
        }
    }

    private func open(
        from revision: Int64, token: String?, at endpoint: EtcdEndpoint, until deadline: Int64
    ) throws(EtcdError) -> WatchStream {
        let (start, end) = coding.allKeys
        let body = JSONValue.object(sorted: [
            "create_request": .object(sorted: [
                "key": .string(Base64.encode(start)), "range_end": .string(Base64.encode(end)),
                "start_revision": .string(String(revision)), "progress_notify": .boolean(true),
                // Otherwise one message can have the changes of a thousand revisions.
                "fragment": .boolean(true),
            ])
        ])
        let call = Call(path: "/v3/watch", body: body, isRepeatable: true, isStream: true)
        // The line that is read, and what libcurl reads from the socket at a time.
        let (bytesMax, overflow) = options.messageBytesMax.addingReportingOverflow(4 << 20)
        let stream = WatchStream(
            exchange: try begin(
                call, token: token, with: endpoint, replyBytesMax: overflow ? .max : bytesMax),
            endpoint: endpoint, messageBytesMax: options.messageBytesMax)
        do throws(EtcdError) {
            let first = try next(of: stream, until: deadline)
            guard
                try reading(
                    first,
                    { fields throws(ReplyFields.Fault) in
                        try fields.flag("created")
                    })
            else {
                throw EtcdError(.notEtcd, at: endpoint.url, "no watch was created")
            }
            try requireOpen(first, of: stream)
            stream.created = first
            return stream
        } catch {
            connection.finish()
            throw error
        }
    }

    private func follow(
        _ stream: WatchStream, silenceMax: Duration?, _ handle: (WatchEvent) -> Bool
    ) throws(EtcdError) -> WatchEnd {
        guard let created = stream.created, handle(.created(created.receipt)) else {
            return .stopped
        }
        var changes = RevisionChanges(coding: coding, bytesMax: options.messageBytesMax)
        while true {
            let answer = try next(of: stream, until: Self.deadline(after: silenceMax))
            try requireOpen(answer, of: stream)
            let events = try reading(answer) { fields throws(ReplyFields.Fault) in
                try changes.take(fields, answer.receipt, bytes: stream.lineBytes)
            }
            guard changes.isWithinLimit else {
                throw EtcdError(
                    .replyTooLarge, at: stream.endpoint.url,
                    "a revision with more than \(options.messageBytesMax) bytes")
            }
            for event in events where !handle(event) { return .stopped }
        }
    }

    /// After a compaction etcd says that it cancelled the watch, and leaves the stream open.
    private func requireOpen(_ answer: Answer, of stream: WatchStream) throws(EtcdError) {
        let place = stream.endpoint.url
        let (isCancelled, compacted, reason) = try reading(answer) {
            fields throws(ReplyFields.Fault) in
            (
                try fields.flag("canceled"), try fields.number("compact_revision", as: Int64.self),
                try fields.text("cancel_reason")
            )
        }
        guard isCancelled else { return }
        if compacted > 0 { throw EtcdError(.compacted, at: place, reason, effect: .refused) }
        throw EtcdError.reported(
            reason.isEmpty ? "etcd cancelled the watch" : reason, number: 0, status: 200,
            at: place)
    }

    // MARK: - Messages

    /// Waits for the next message, which is a line.
    private func next(
        of stream: WatchStream, until deadline: Int64
    ) throws(EtcdError) -> Answer {
        let (exchange, endpoint) = (stream.exchange, stream.endpoint)
        while true {
            if let line = stream.takeLine() ?? (stream.isEnded ? stream.takeRest() : nil) {
                return try answer(line, exchange, isStream: true, from: endpoint)
            }
            guard !stream.isEnded else {
                throw EtcdError(
                    .connectionLost, at: endpoint.url, "the stream ended", effect: .unknown)
            }
            guard !stream.isLineTooLong else {
                throw EtcdError(
                    .replyTooLarge, at: endpoint.url,
                    "a message of more than \(stream.messageBytesMax) bytes", effect: .unknown)
            }
            switch connection.wait(until: deadline) {
            case .data: continue
            case .timeout where stream.created != nil:
                throw EtcdError(.silent, at: endpoint.url, effect: .unknown)
            // What arrived with the end is read first; an error of the gateway has no line end.
            case .done(CURLE_OK): stream.isEnded = true
            case let step: throw failure(step, exchange, at: endpoint)
            }
        }
    }
}

/// Splits the stream of a watch into lines, one for each message.
private final class WatchStream {
    let exchange: Exchange
    let endpoint: EtcdEndpoint
    let messageBytesMax: Int
    /// Whether the stream has ended, so that no more lines come.
    var isEnded = false
    /// The first message, which says that the watch exists; nil before it.
    var created: EtcdClient.Answer?
    /// How long the line was that was taken last.
    private(set) var lineBytes = 0
    /// How many bytes at the beginning were searched and have no line end.
    private var searched = 0

    init(exchange: Exchange, endpoint: EtcdEndpoint, messageBytesMax: Int) {
        self.exchange = exchange
        self.endpoint = endpoint
        self.messageBytesMax = messageBytesMax
    }

    /// Whether the line that has no end yet is too long.
    var isLineTooLong: Bool { searched > messageBytesMax }

    /// Takes the next line with anything in it.
    ///
    /// - Complexity: O(*n*) in the bytes that arrived.
    func takeLine() -> [UInt8]? {
        while let end = exchange.body[searched...].firstIndex(of: 0x0a) {
            let line = Array(exchange.body[..<end])
            exchange.body.removeSubrange(...end)
            searched = 0
            lineBytes = line.count
            if !line.isEmpty { return line }
        }
        searched = exchange.body.count
        return nil
    }

    /// Takes what has no line end, such as an error message; nil if nothing is left.
    func takeRest() -> [UInt8]? {
        defer {
            exchange.body = []
            searched = 0
        }
        return exchange.body.isEmpty ? nil : exchange.body
    }
}

/// Collects the changes of each revision. etcd can divide a large message into fragments, and a
/// revision with it.
private struct RevisionChanges {
    let coding: FleetCoding
    let bytesMax: Int
    private var revision: Int64 = 0
    private var reads: FleetAnswer.Reads = [:]
    private var bytes = 0

    init(coding: FleetCoding, bytesMax: Int) {
        self.coding = coding
        self.bytesMax = bytesMax
    }

    var isWithinLimit: Bool { bytes <= bytesMax }

    /// Takes a message.
    ///
    /// - Returns: what is complete with it.
    mutating func take(
        _ fields: ReplyFields, _ receipt: EtcdReceipt, bytes count: Int
    ) throws(ReplyFields.Fault) -> [WatchEvent] {
        var events: [WatchEvent] = []
        let changes = try fields.objects("events")
        if changes.isEmpty { return [.progress(receipt.revision)] }
        for change in changes {
            let pair = try coding.pair(try change.object("kv"))
            if pair.value.modified != revision { complete(receipt, &events) }
            guard pair.value.modified >= max(revision, 1) else {
                throw ReplyFields.Fault(message: "an older revision after a later one")
            }
            revision = pair.value.modified
            guard let key = coding.key(pair.path) else {
                let path = String(decoding: pair.path, as: UTF8.self)
                events.append(.unknownKey(EtcdError.printable(path)))
                continue
            }
            let type = try change.text("type")
            guard type.isEmpty || type == "PUT" || type == "DELETE" else {
                throw ReplyFields.Fault(message: "an event of another type")
            }
            reads[key] = .some(type == "DELETE" ? nil : pair.value)
        }
        if try fields.flag("fragment") {
            bytes += count
        } else {
            complete(receipt, &events)
        }
        return events
    }

    private mutating func complete(_ receipt: EtcdReceipt, _ events: inout [WatchEvent]) {
        if !reads.isEmpty {
            events.append(.changed(cluster: receipt.cluster, revision: revision, reads))
        }
        reads = [:]
        bytes = 0
    }
}
