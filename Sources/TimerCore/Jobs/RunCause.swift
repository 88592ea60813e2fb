// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Firing {
    /// The reason for a run. The text is the same in the store and in JSON: `schedule`, `catch-up`,
    /// `resume`, `requested(ada)`, and `requested-with-variables(ada)`.
    public enum Cause: Hashable, Sendable, LosslessStringConvertible {
        /// Its schedule.
        case schedule
        /// Its schedule, for a missed occurrence: no daemon ran, or the machine was suspended.
        case catchUp
        /// The end of a pause, with `on-resume = "fire-if-due"`.
        case resume
        /// A user requested it. The box keeps the memory of all other runs small.
        case requested(Boxed<Request>)

        /// The request of a user.
        public struct Request: Hashable, Sendable {
            /// Who requested the run.
            public var by: Initiator
            /// The variables for this run.
            public var variables: RunVariables

            /// Creates a request.
            public init(by: Initiator, variables: RunVariables = RunVariables()) {
                self.by = by
                self.variables = variables
            }
        }

        /// A request of this user.
        public static func requested(
            by initiator: Initiator, variables: RunVariables = RunVariables()
        ) -> Cause {
            .requested(Boxed(wrappedValue: Request(by: initiator, variables: variables)))
        }

        /// Who requested it; nil if the run was not requested.
        public var requester: String? {
            if case .requested(let request) = self {
                request.wrappedValue.by.description
            } else {
                nil
            }
        }

        /// The variables that were set only for this run.
        public var variables: RunVariables {
            if case .requested(let request) = self {
                request.wrappedValue.variables
            } else {
                RunVariables()
            }
        }

        private static let kind = "requested("
        private static let kindWithVariables = "requested-with-variables("

        public var description: String {
            switch self {
            case .schedule: "schedule"
            case .catchUp: "catch-up"
            case .resume: "resume"
            case .requested(let request):
                (variables.isEmpty ? Self.kind : Self.kindWithVariables)
                    + "\(request.wrappedValue.by))"
            }
        }

        /// The word for it without the name: `schedule`, `catch-up`, `resume` or `requested`.
        public var word: String {
            if case .requested = self { "requested" } else { description }
        }

        /// Parses the text that `description` produces; nil for any other text.
        public init?(_ text: String) {
            switch text {
            case "schedule": self = .schedule
            case "catch-up": self = .catchUp
            case "resume": self = .resume
            default:
                let kinds = [Self.kind, Self.kindWithVariables]
                guard text.hasSuffix(")"), let kind = kinds.first(where: { text.hasPrefix($0) })
                else { return nil }
                let name = String(text.dropFirst(kind.count).dropLast())
                self = .requested(
                    by: .user(name),
                    variables: kind == Self.kind ? RunVariables() : .lost)
            }
        }
    }
}
