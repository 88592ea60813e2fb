// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

extension Firing {
    /// The reason for a run. The text is the same in the store and in JSON: `schedule`, `catch-up`,
    /// `resume`, `chain(backup:20261121T043852.000000Z:1, success)`, `requested(ada)`,
    /// `requested-with-variables(ada)`, `requested-alone(ada)`, `requested-forced(ada)`,
    /// `requested[full daily](ada)` with the arguments of the run, and `claimed(4711, schedule)` with
    /// its fence.
    public enum Cause: Hashable, Sendable, LosslessStringConvertible {
        /// The schedule of the job.
        case schedule
        /// Its schedule, for a missed occurrence: no daemon ran, or the machine was suspended.
        case catchUp
        /// The end of a pause, with `on-resume = "fire-if-due"`.
        case resume
        /// The end of a run of a job that its job follows.
        case chain(Boxed<Chain>)
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
            /// What is appended to the command for this run alone.
            public var arguments: RunArguments
            /// Whether no other job follows this run.
            public var isAlone: Bool
            /// Whether it starts whatever the condition of its job says.
            public var isForced: Bool

            public init(
                by: Initiator, variables: RunVariables = RunVariables(),
                arguments: RunArguments = RunArguments(), isAlone: Bool = false,
                isForced: Bool = false
            ) {
                self.arguments = arguments
                self.isForced = isForced
                self.by = by
                self.variables = variables
                self.isAlone = isAlone
            }
        }

        /// The end of a run, which caused another.
        public struct Chain: Hashable, Sendable {
            /// The run that ended.
            public var run: Run.ID
            /// How it ended.
            public var result: RunResult

            public init(run: Run.ID, result: RunResult) {
                self.run = run
                self.result = result
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
            by initiator: Initiator, variables: RunVariables = RunVariables(),
            arguments: RunArguments = RunArguments(), isAlone: Bool = false, isForced: Bool = false
        ) -> Cause {
            .requested(
                Boxed(
                    wrappedValue: Request(
                        by: initiator, variables: variables, arguments: arguments,
                        isAlone: isAlone, isForced: isForced)))
        }

        /// The cause of a run that follows this end.
        public static func chain(_ chain: Chain) -> Cause { .chain(Boxed(wrappedValue: chain)) }

        /// The end that caused the run; nil if no end did.
        public var chain: Chain? {
            if case .chain(let chain) = self { chain.wrappedValue } else { nil }
        }

        /// Whether no other job follows the run.
        public var isAlone: Bool {
            if case .requested(let request) = self { request.wrappedValue.isAlone } else { false }
        }

        /// Whether the run starts whatever the condition of its job says.
        public var isForced: Bool {
            if case .requested(let request) = self { request.wrappedValue.isForced } else { false }
        }

        /// Who requested it; nil if the run was not requested.
        public var requester: String? {
            switch self {
            case .requested(let request): request.wrappedValue.by.description
            case .claimed(let claim): claim.wrappedValue.cause.requester
            case .schedule, .catchUp, .resume, .chain: nil
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

        /// The words that are appended to the command for this run alone.
        public var arguments: RunArguments {
            if case .requested(let request) = self {
                request.wrappedValue.arguments
            } else {
                RunArguments()
            }
        }

        private static let kindOfRequest = "requested"
        fileprivate static let withVariables = "-with-variables"
        fileprivate static let alone = "-alone"
        fileprivate static let forced = "-forced"
        private static let kindOfClaim = "claimed("
        private static let kindOfChain = "chain("

        public var description: String {
            switch self {
            case .schedule: "schedule"
            case .catchUp: "catch-up"
            case .resume: "resume"
            case .chain(let chain):
                "\(Self.kindOfChain)\(chain.wrappedValue.run), \(chain.wrappedValue.result.word))"
            case .requested(let request):
                Self.kindOfRequest + (variables.isEmpty ? "" : Self.withVariables)
                    + (isAlone ? Self.alone : "") + (isForced ? Self.forced : "")
                    + (arguments.isEmpty ? "" : "[\(arguments)]")
                    + "(\(request.wrappedValue.by))"
            case .claimed(let claim):
                "\(Self.kindOfClaim)\(claim.wrappedValue.fence), \(claim.wrappedValue.cause))"
            }
        }

        /// The word for it without the name: `schedule`, `catch-up`, `resume`, `chain` or `requested`;
        /// of a run of a fleet the word for why the fleet made it.
        public var word: String {
            switch self {
            case .requested: "requested"
            case .chain: "chain"
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
            case _ where text.hasPrefix(Self.kindOfChain):
                guard let chain = Chain(text.dropFirst(Self.kindOfChain.count)) else { return nil }
                self = .chain(chain)
            default:
                guard let request = Request(text, Self.kindOfRequest) else { return nil }
                self = .requested(Boxed(wrappedValue: request))
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

extension Firing.Cause.Chain {
    /// Parses what follows `chain(`; nil for any other text.
    fileprivate init?(_ text: Substring) {
        guard let separator = text.firstOccurrence(of: ", "), text.hasSuffix(")"),
            let run = Run.ID(String(text[..<separator.lowerBound])),
            let result = RunResult(word: String(text[separator.upperBound...].dropLast()))
        else { return nil }
        self.init(run: run, result: result)
    }
}

extension Firing.Cause.Request {
    /// Parses the text of a request: the word, what is special about it, the arguments, which contain
    /// no bracket, and the name in brackets.
    fileprivate init?(_ text: String, _ word: String) {
        guard text.hasPrefix(word), text.hasSuffix(")"), let bracket = text.firstIndex(of: "(")
        else { return nil }
        var rest = text[..<bracket].dropFirst(word.count)
        func takes(_ part: String) -> Bool {
            guard rest.hasPrefix(part) else { return false }
            rest = rest.dropFirst(part.count)
            return true
        }
        let hasVariables = takes(Firing.Cause.withVariables)
        let isAlone = takes(Firing.Cause.alone)
        let isForced = takes(Firing.Cause.forced)
        var arguments = RunArguments()
        if takes("[") {
            guard rest.last == "]", let words = RunArguments(String(rest.dropLast())),
                !words.isEmpty
            else { return nil }
            (arguments, rest) = (words, "")
        }
        guard rest.isEmpty else { return nil }
        self.init(
            by: .user(String(text[bracket...].dropFirst().dropLast())),
            variables: hasVariables ? .lost : RunVariables(), arguments: arguments,
            isAlone: isAlone, isForced: isForced)
    }
}
