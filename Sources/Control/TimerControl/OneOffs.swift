// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// What is needed to write the definition of a one-off job.
///
/// The daemon accepts no command line over its socket: what it runs is in files that only root and
/// the owner of the configuration can write. A client creates a one-off job by writing such a file,
/// and then telling the daemon its name.
public struct OneOffsReply: Codable, Hashable, Sendable {
    /// The most characters of the base of a name.
    public static let baseLengthMax = 40

    /// The absolute path of the configuration file. The definitions are in the directory
    /// `one-off.d` beside it.
    public var config: String
    /// A name that is free, if a base was given.
    public var name: String?

    public init(config: String, name: String?) {
        self.config = config
        self.name = name
    }
}
