// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HostQueues
package import TimerControl

extension Reloader {
    /// Reports what a reload would change, or why it would be refused. Nothing is changed.
    package func preview(
        done: @escaping @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    ) {
        queue.async { [self] in
            switch read(isStrict: false) {
            case .success(let reading): preview(reading, done)
            case .failure(let errors): done(.failure(unusable(errors)))
            }
        }
    }

    private func preview(
        _ reading: Readable,
        _ done: @escaping @Sendable (Result<ReloadReply, ErrorReply>) -> Void
    ) {
        loop.later { [self] loop in
            loop.definitions(of: reading.kept) { [self] kept in
                queue.async { [self] in
                    switch reading.jobSet(keeping: kept) {
                    case .success(let jobSet):
                        loop.later { [queue] loop in
                            loop.preview(jobSet) { preview in
                                queue.async {
                                    done(
                                        .success(
                                            ReloadReply(
                                                preview, warnings: reading.warnings,
                                                refusedFiles: reading.refused,
                                                errors: reading.errors)))
                                }
                            }
                        }
                    case .failure(let errors): done(.failure(unusable(errors)))
                    }
                }
            }
        }
    }

    private func unusable(_ errors: Errors) -> ErrorReply {
        ErrorReply(
            "\(path): \(errors.count); a reload would be refused",
            code: .invalidConfiguration, details: errors.sentences)
    }
}
