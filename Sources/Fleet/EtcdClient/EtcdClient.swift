// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerCore
public import TimerFleet
import TimerJSON

/// A client of etcd's JSON gateway, with one connection. Its calls wait for the answer, so a thread
/// that waits for a watch needs a client of its own. Only one thread at a time may use a client; only
/// its `canceller` may be used by others.
///
/// The process must ignore SIGPIPE, or block it in this thread: a library of TLS may cause it.
public final class EtcdClient {
    /// Ends the calls of this client, from any thread.
    public let canceller: EtcdCanceller

    let options: EtcdOptions
    let endpoints: [EtcdEndpoint]
    let connection: Connection
    let coding: FleetCoding
    let clock: () -> Now
    /// The endpoint that is asked first: the one that answered last.
    var preferred = 0
    /// The token of the login, which is used until etcd refuses it; nil before the first.
    private var token: String?

    /// Creates a client. It does not connect.
    ///
    /// - Parameter clock: reads the clocks; the readings are part of each `EtcdReceipt`.
    /// - Throws: `EtcdError` with the code `invalidOptions`.
    public init(_ options: EtcdOptions, clock: @escaping () -> Now) throws(EtcdError) {
        self.options = options
        self.clock = clock
        endpoints = try options.checked()
        canceller = EtcdCanceller()
        coding = FleetCoding(fleet: options.fleet)
        connection = try Connection(options, canceller: canceller, clock: clock)
    }

    // MARK: - One call

    /// One call of etcd's JSON API.
    struct Call {
        /// Below the address of the endpoint, such as `/v3/kv/range`.
        var path: String
        var body: JSONValue
        /// Whether it does no harm if etcd executes it twice.
        var isRepeatable: Bool
        /// Whether the answer is the first message of a stream.
        var isStream = false
    }

    /// An answer that etcd gave without an error.
    struct Answer {
        var fields: ReplyFields
        var receipt: EtcdReceipt
    }

    /// Asks one endpoint after the other until one of them answers. A call that must not be repeated
    /// is sent to another endpoint only if it certainly did nothing.
    ///
    /// - Complexity: O(*n*) in the endpoints.
    func send(_ call: Call) throws(EtcdError) -> Answer {
        try askEach(until: Self.deadline(after: options.timeout), isRepeatable: call.isRepeatable) {
            endpoint, deadline throws(EtcdError) in
            try self.send(call, to: endpoint, until: deadline)
        }
    }

    /// The instant after this time, a reading of CLOCK_BOOTTIME in nanoseconds; nil: never.
    static func deadline(after span: Duration?) -> Int64 {
        guard let span else { return .max }
        let (sum, overflow) = Connection.clockReading().addingReportingOverflow(
            span.wholeNanoseconds)
        return overflow ? .max : sum
    }

    /// Calls `ask` for one endpoint after the other until one succeeds.
    ///
    /// - Parameter end: when to give up, a reading of CLOCK_BOOTTIME in nanoseconds.
    func askEach<Result>(
        until end: Int64, isRepeatable: Bool,
        _ ask: (EtcdEndpoint, Int64) throws(EtcdError) -> Result
    ) throws(EtcdError) -> Result {
        var errors: [EtcdError] = []
        let first = preferred
        for offset in endpoints.indices {
            let index = (first + offset) % endpoints.count
            let now = Connection.clockReading()
            guard offset == 0 || now < end else { break }
            // An endpoint that is silent must leave time for the others.
            let share = (end - now) / Int64(isRepeatable ? endpoints.count - offset : 1)
            do throws(EtcdError) {
                let result = try ask(endpoints[index], now + share)
                preferred = index
                return result
            } catch {
                errors.append(error)
                // The next call begins with another endpoint.
                if error.isOfThisEndpoint { preferred = (index + 1) % endpoints.count }
                guard error.isOfThisEndpoint, isRepeatable || error.effect != .unknown else {
                    break
                }
            }
        }
        throw Self.combined(errors)
    }

    /// The error of a call that failed at each endpoint: the one that says most, with the others.
    private static func combined(_ errors: [EtcdError]) -> EtcdError {
        let silent: Set<EtcdError.Code> = [.connectionRefused, .connectTimeout, .hostNotFound]
        let index =
            errors.firstIndex { $0.effect == .unknown }
            ?? errors.firstIndex { !silent.contains($0.code) } ?? 0
        var error = errors[index]
        for (other, found) in errors.enumerated() where other != index {
            error.others.append("\(found.place): \(found.sentence)")
        }
        return error
    }

    /// Asks one endpoint, with a login before if the options have a user. If etcd does not accept
    /// the login any more, logs in and asks once more: it has not executed the call.
    func send(
        _ call: Call, to endpoint: EtcdEndpoint, until deadline: Int64
    ) throws(EtcdError) -> Answer {
        try withLogin(at: endpoint, until: deadline) { token throws(EtcdError) in
            try self.exchange(call, token: token, with: endpoint, until: deadline)
        }
    }

    /// Calls `body` with the token of the login, a second time with a new one if etcd does not
    /// accept it any more.
    ///
    /// - Parameter expired: the errors that say so.
    func withLogin<Result>(
        at endpoint: EtcdEndpoint, until deadline: Int64,
        expired: Set<EtcdError.Code> = [.tokenExpired],
        _ body: (String?) throws(EtcdError) -> Result
    ) throws(EtcdError) -> Result {
        guard let user = options.user, let password = options.password else {
            return try body(nil)
        }
        let known = token
        if let known {
            do throws(EtcdError) {
                return try body(known)
            } catch {
                guard expired.contains(error.code) else { throw error }
            }
            token = nil
        }
        return try body(try logIn(user, password, at: endpoint, until: deadline))
    }

    /// Logs in: etcd answers with a token, which is kept for the next calls.
    private func logIn(
        _ user: String, _ password: String, at endpoint: EtcdEndpoint, until deadline: Int64
    ) throws(EtcdError) -> String {
        let call = Call(
            path: "/v3/auth/authenticate",
            body: .object(sorted: ["name": .string(user), "password": .string(password)]),
            isRepeatable: true)
        do throws(EtcdError) {
            let answer = try exchange(call, token: nil, with: endpoint, until: deadline)
            let token = try Self.reading(at: endpoint.url) { () throws(ReplyFields.Fault) in
                try answer.fields.text("token")
            }
            // The token becomes a line of the header, so that a line end in it would add another
            // line.
            guard (1...Self.tokenBytesMax).contains(token.utf8.count),
                token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            else { throw EtcdError(.notEtcd, at: endpoint.url, "no valid token") }
            self.token = token
            return token
        } catch {
            // Whatever the login did, the call itself was not sent.
            var error = error
            error.effect = .notSent
            throw error
        }
    }

    /// The longest token. One of JWT with a key of 4096 bits has less than 1 KiB.
    private static let tokenBytesMax = 16 << 10

    /// Reads an answer of this endpoint.
    ///
    /// - Throws: `EtcdError` instead of the fault; etcd may have executed the call.
    static func reading<Result>(
        at place: String, _ read: () throws(ReplyFields.Fault) -> Result
    ) throws(EtcdError) -> Result {
        do throws(ReplyFields.Fault) {
            return try read()
        } catch {
            throw EtcdError(.notEtcd, at: place, error.message, effect: .unknown)
        }
    }
}

/// What became of a transaction, as far as etcd says.
public enum TransactionOutcome: Sendable {
    /// etcd executed it: its branches were applied or refused.
    case answered(FleetAnswer, EtcdReceipt)
    /// etcd does not accept it as it is. Nothing was changed.
    case rejected(EtcdError)
    /// It was not sent. It may be sent again.
    case notSent(EtcdError)
    /// It may have been applied, may be applied later, or never. It must not be sent again before
    /// the store was asked for its result.
    case unknown(EtcdError)
}

extension EtcdClient {
    /// Executes a transaction, and never sends it a second time unless the first one certainly did
    /// nothing.
    ///
    /// - Complexity: O(*n*) in the bytes.
    public func execute(_ transaction: FleetTransaction) -> TransactionOutcome {
        guard transaction.operations <= FleetTransaction.operationsMax else {
            return .rejected(
                EtcdError(
                    .requestRefused, at: "transaction",
                    "\(transaction.operations) operations, and etcd permits "
                        + "\(FleetTransaction.operationsMax)"))
        }
        do throws(EtcdError) {
            let call = Call(
                path: "/v3/kv/txn", body: coding.request(transaction), isRepeatable: false)
            let answer = try send(call)
            let result = try reading(answer) { fields throws(ReplyFields.Fault) in
                try coding.answer(fields, to: transaction, receipt: answer.receipt)
            }
            return .answered(result, answer.receipt)
        } catch {
            switch error.effect {
            case .notSent: return .notSent(error)
            case .refused: return .rejected(error)
            case .unknown: return .unknown(error)
            }
        }
    }
}
