// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CCurl
import TimerCore
import TimerFleet
import TimerJSON

extension EtcdClient {
    /// Sends a request to one endpoint and waits for the whole answer.
    ///
    /// - Throws: `EtcdError`, which says whether etcd may have executed the request.
    func exchange(
        _ call: Call, token: String?, with endpoint: EtcdEndpoint, until deadline: Int64
    ) throws(EtcdError) -> Answer {
        let exchange = try begin(
            call, token: token, with: endpoint, replyBytesMax: options.replyBytesMax)
        defer { connection.finish() }
        while true {
            switch connection.wait(until: deadline) {
            case .data: continue
            case .done(CURLE_OK):
                return try answer(exchange.body, exchange, isStream: call.isStream, from: endpoint)
            case let step: throw failure(step, exchange, at: endpoint)
            }
        }
    }

    func begin(
        _ call: Call, token: String?, with endpoint: EtcdEndpoint, replyBytesMax: Int
    ) throws(EtcdError) -> Exchange {
        try connection.begin(
            EtcdRequest(
                url: endpoint.url + call.path, token: token, body: Array(call.body.line.utf8),
                replyBytesMax: replyBytesMax))
    }

    /// Reads one message: the whole body, or a line of a stream.
    func answer(
        _ body: [UInt8], _ exchange: Exchange, isStream: Bool, from endpoint: EtcdEndpoint
    ) throws(EtcdError) -> Answer {
        let status = connection.status
        guard !(300..<400).contains(status) else {
            throw EtcdError(
                .redirected, at: endpoint.url, connection.redirect ?? "", effect: .unknown)
        }
        let fields: ReplyFields
        do {
            fields = try ReplyFields(parsing: body)
        } catch {
            let cause = (error as? JSONDocument.Fault)?.description ?? "no object"
            throw EtcdError(
                status == 200 ? .notJSON : .notEtcd, at: endpoint.url,
                "status \(status), \(cause)", effect: .unknown)
        }
        if status != 200 || fields.has("error") {
            throw try Self.reading(at: endpoint.url) { () throws(ReplyFields.Fault) in
                try Self.reported(fields, status: status, at: endpoint)
            }
        }
        let answer = try Self.reading(at: endpoint.url) { () throws(ReplyFields.Fault) in
            let fields = isStream ? try fields.object("result") : fields
            let receipt = try self.receipt(try fields.object("header"), exchange, endpoint)
            return Answer(fields: fields, receipt: receipt)
        }
        guard options.cluster == nil || options.cluster == answer.receipt.cluster else {
            // Whatever it did, it did to other keys than those of the fleet.
            throw EtcdError(
                .wrongCluster, at: endpoint.url, "cluster \(answer.receipt.cluster)",
                effect: .refused)
        }
        return answer
    }

    private func receipt(
        _ header: ReplyFields, _ exchange: Exchange, _ endpoint: EtcdEndpoint
    ) throws(ReplyFields.Fault) -> EtcdReceipt {
        let cluster = try header.number("cluster_id", as: UInt64.self)
        guard cluster != 0 else { throw ReplyFields.Fault(message: "'cluster_id' is missing") }
        let received = exchange.received ?? clock()
        return EtcdReceipt(
            endpoint: endpoint.url, cluster: String(cluster, radix: 16),
            revision: try header.number("revision"), sent: exchange.sent ?? received,
            received: received, date: exchange.date)
    }

    /// The error that etcd or its gateway reports: in the answer itself, or in an object of it.
    private static func reported(
        _ fields: ReplyFields, status: Int, at endpoint: EtcdEndpoint
    ) throws(ReplyFields.Fault) -> EtcdError {
        var fields = fields
        if !fields.has("message"), !fields.has("code"), let inner = try? fields.object("error") {
            fields = inner
        }
        let message = try fields.text(fields.has("message") ? "message" : "error")
        let code: Int64 = try fields.number(fields.has("code") ? "code" : "grpc_code")
        return .reported(
            message.isEmpty ? "status \(status)" : message, number: code, status: status,
            at: endpoint.url)
    }

    // MARK: - Failures of the connection

    /// The error of an exchange that was not completed.
    func failure(
        _ step: Connection.Step, _ exchange: Exchange, at endpoint: EtcdEndpoint
    ) -> EtcdError {
        let isSent = exchange.sent != nil
        let effect = isSent ? EtcdError.Effect.unknown : .notSent
        switch step {
        case .data: return EtcdError(.notEtcd, at: endpoint.url, effect: effect)
        case .timeout:
            return EtcdError(isSent ? .timeout : .connectTimeout, at: endpoint.url, effect: effect)
        case .cancelled: return EtcdError(.cancelled, at: endpoint.url, effect: effect)
        case .done(let code):
            let text = connection.describe(code)
            return EtcdError(
                exchange.isTooLarge ? .replyTooLarge : Self.code(code, text, isSent: isSent),
                at: endpoint.url, text, effect: effect)
        }
    }

    private static func code(_ code: CURLcode, _ text: String, isSent: Bool) -> EtcdError.Code {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return .hostNotFound
        case CURLE_COULDNT_CONNECT: return .connectionRefused
        case CURLE_OPERATION_TIMEDOUT: return isSent ? .timeout : .connectTimeout
        case CURLE_PEER_FAILED_VERIFICATION: return .untrusted
        case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE: return .certificateFile
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2,
            CURLE_BAD_CONTENT_ENCODING:
            return .notEtcd
        default:
            // With TLS 1.3, a server refuses the certificate of a client only after the client has
            // sent its request.
            let isAlert = text.hasOccurrence(of: "alert")
            if isAlert, ["certificate", "unknown ca"].contains(where: text.hasOccurrence) {
                return .certificateRefused
            }
            return isSent ? .connectionLost : .tlsFailed
        }
    }
}
