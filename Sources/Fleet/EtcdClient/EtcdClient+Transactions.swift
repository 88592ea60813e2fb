// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

public import TimerFleet

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
