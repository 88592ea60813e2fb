// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Firing {
    /// The reason for a run. The text is the same in the store and in JSON: `schedule`, `catch-up`,
    /// `resume`, `requested(ada)`, `requested-with-variables(ada)`, and `claimed(4711, schedule)`
    /// with the fence of the run.
    public enum Cause: Hashable, Sendable, LosslessStringConvertible {
        /// The schedule of the job.
        case schedule
        /// Its schedule, for a missed occurrence: no daemon ran, or the machine was suspended.
        case catchUp
        /// The end of a pause, with `on-resume = "fire-if-due"`.
        case resume
        /// A user requested it. The box keeps the memory of all other runs small.
        case requested(Boxed<Request>)
        /// This machine claimed it for a fleet.
        case claimed(Boxed<Claim>)

        /// Who requested a run, and what for this run alone.
        public struct Request: Hashable, Sendable {
            /// The user who requested the run, whose name is a part of the cause as text.
            public var by: Initiator
            /// Variables for this run alone. They are not stored.
            public var variables: RunVariables

            public init(by: Initiator, variables: RunVariables = RunVariables()) {
                self.by = by
                self.variables = variables
            }
        }

        /// The decision of a fleet that a run starts on this machine.
        public struct Claim: Hashable, Sendable {
            /// Why the fleet made the run. It is not itself a claim.
            public var cause: Cause
            /// A number that grows with each claim of the fleet (`TIMERD_FENCE`).
            public var fence: Int64
            /// The process must start before this instant; nil for a run of an earlier instance of
            /// the daemon, which starts nothing any more.
            public var before: BootInstant?

            public init(cause: Cause, fence: Int64, before: BootInstant?) {
                self.cause = cause
                self.fence = fence
                self.before = before
            }
        }

        /// The cause of a run that a fleet gave to this machine.
        public static func claimed(_ claim: Claim) -> Cause {
            .claimed(Boxed(wrappedValue: claim))
        }

        /// The decision of a fleet; nil for a run of this machine alone.
        public var claim: Claim? {
            if case .claimed(let claim) = self { claim.wrappedValue } else { nil }
        }

        /// The cause of a run that this user requested.
        public static func requested(
            by initiator: Initiator, variables: RunVariables = RunVariables()
        ) -> Cause {
            .requested(Boxed(wrappedValue: Request(by: initiator, variables: variables)))
        }

        /// Who requested it; nil if the run was not requested.
        public var requester: String? {
            switch self {
            case .requested(let request): request.wrappedValue.by.description
            case .claimed(let claim): claim.wrappedValue.cause.requester
            case .schedule, .catchUp, .resume: nil
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
        private static let kindOfClaim = "claimed("

        public var description: String {
            switch self {
            case .schedule: "schedule"
            case .catchUp: "catch-up"
            case .resume: "resume"
            case .requested(let request):
                (variables.isEmpty ? Self.kind : Self.kindWithVariables)
                    + "\(request.wrappedValue.by))"
            case .claimed(let claim):
                "\(Self.kindOfClaim)\(claim.wrappedValue.fence), \(claim.wrappedValue.cause))"
            }
        }

        /// The word for it without the name: `schedule`, `catch-up`, `resume` or `requested`; of a
        /// run of a fleet the word for why the fleet made it.
        public var word: String {
            switch self {
            case .requested: "requested"
            case .claimed(let claim): claim.wrappedValue.cause.word
            case .schedule, .catchUp, .resume: description
            }
        }

        /// Parses the text that `description` produces; nil for any other text.
        public init?(_ text: String) {
            switch text {
            case "schedule": self = .schedule
            case "catch-up": self = .catchUp
            case "resume": self = .resume
            case _ where text.hasPrefix(Self.kindOfClaim):
                guard let claim = Claim(text.dropFirst(Self.kindOfClaim.count)) else { return nil }
                self = .claimed(claim)
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

extension Firing.Cause.Claim {
    /// Parses what follows `claimed(`; nil for any other text. The instant of the last start is not
    /// in it.
    fileprivate init?(_ text: Substring) {
        guard let separator = text.firstOccurrence(of: ", ") else { return nil }
        let (number, rest) = (text[..<separator.lowerBound], text[separator.upperBound...])
        guard let fence = Int64(number), String(fence) == number, rest.hasSuffix(")"),
            let cause = Firing.Cause(String(rest.dropLast())),
            cause.claim == nil
        else { return nil }
        self.init(cause: cause, fence: fence, before: nil)
    }
}
