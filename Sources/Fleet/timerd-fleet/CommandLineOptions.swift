// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The command line. It is so short that a parser of its own costs less than a library, which would
/// be a third of this program.
struct CommandLineOptions: Equatable {
    /// The path of the configuration file.
    var config = ""
    /// The path of the socket; nil: the service manager passes it.
    var socket: String?
    /// The user whose scheduler may connect, beside root; nil: the user of this process.
    var schedulerUser: String?
    /// Whether the log is JSON on standard error.
    var isJSON = false

    /// What a command line can request.
    enum Request: Equatable {
        case serve(CommandLineOptions)
        case help
        case version
    }

    /// Why a command line cannot be understood.
    struct Fault: Error, Equatable {
        let description: String
    }

    static let version = "0.1.0"

    static let usage = "Usage: timerd-fleet --config <file> [--socket <path>]"

    static let help = """
        OVERVIEW: Connect timerd with etcd, over which the machines of a fleet share jobs.

        \(usage) [--scheduler-user <user>] [--log <target>]

        OPTIONS:
          --config <file>         The configuration of timerd, with the table [fleet].
          --socket <path>         The socket to listen on (default: the one that systemd passes).
          --scheduler-user <user> The user whose scheduler may connect, in addition to root
                                  (default: this program's).
          --log <target>          The target of the log: auto is the journal if standard error is
                                  connected to it, otherwise standard error; json is standard error,
                                  with one JSON object per line. (default: auto)
          --version               Show the version.
          -h, --help              Show help information.

        SIGTERM and SIGINT end it. On SIGHUP it reads the configuration again.
        """

    /// Parses the arguments, without the name of the program.
    ///
    /// - Throws: `Fault` with a sentence for the user.
    static func parse(_ arguments: [String]) throws(Fault) -> Request {
        var options = CommandLineOptions()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            if argument == "--help" || argument == "-h" { return .help }
            if argument == "--version" { return .version }
            guard ["--config", "--socket", "--scheduler-user", "--log"].contains(name) else {
                throw Fault(description: "Unknown option '\(argument)'")
            }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst(), !value.isEmpty
            else { throw Fault(description: "Missing value for '\(name)'") }
            switch name {
            case "--config": options.config = value
            case "--socket": options.socket = value
            case "--scheduler-user": options.schedulerUser = value
            default:
                guard value == "auto" || value == "json" else {
                    throw Fault(
                        description:
                            "The value '\(value)' is invalid for '--log'; it is auto or json")
                }
                options.isJSON = value == "json"
            }
        }
        guard !options.config.isEmpty else {
            throw Fault(description: "Missing expected argument '--config <file>'")
        }
        return .serve(options)
    }
}
