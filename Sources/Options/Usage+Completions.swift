// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Scripts by which shells complete the commands of a program and their options.
extension Usage {
    func completionScript(_ words: [String]) throws(UsageError) -> String {
        switch words.first {
        case "bash": return bashScript
        case "zsh": return zshScript
        case "fish": return fishScript
        default: throw UsageError("--generate-completion-script: one of bash, zsh, fish")
        }
    }

    private var bashScript: String {
        let cases = commands.map { command in
            let values = command.options.compactMap { option in
                Self.bashWords(option.completion).map { words in
                    "        --\(option.name)) COMPREPLY=($(compgen \(words) -- \"$cur\")); return ;;\n"
                }
            }
            let choice =
                values.isEmpty ? "" : "        case $prev in\n\(values.joined())        esac\n"
            let operand =
                command.operand.flatMap { Self.bashWords($0.completion) }.map { "\($0) " } ?? ""
            return """
                    \(command.name))
                \(choice)        COMPREPLY=($(compgen \(operand)-W '\(command.words)' -- "$cur")) ;;

                """
        }
        return """
            _\(name)() {
                local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
                if ((COMP_CWORD == 1)); then
                    COMPREPLY=($(compgen -W '\(firstWords)' -- "$cur"))
                    return
                fi
                case ${COMP_WORDS[1]} in
            \(cases.joined())    esac
            }
            complete -o filenames -F _\(name) \(name)
            """
    }

    private static func bashWords(_ completion: Completion) -> String? {
        switch completion {
        case .none: nil
        case .file: "-f"
        case .directory: "-d"
        case .words(let words): "-W '\(words.joined(separator: " "))'"
        }
    }

    private var zshScript: String {
        let cases = commands.map { command in
            let options = command.options.map { option in
                let many = option.isRepeated ? "*" : ""
                let value = option.value.map { ":\($0):\(Self.zshAction(option.completion))" } ?? ""
                let help = Self.plain(option.help)
                return "        '\(many)--\(option.name)[\(help)]\(value)'"
            }
            let operand = command.operand.map {
                ["        ':\($0.value):\(Self.zshAction($0.completion))'"]
            }
            let all = options + (operand ?? [])
            return "    \(command.name)) _arguments \\\n\(all.joined(separator: " \\\n")) ;;\n"
        }
        let names = commands.map { "'\($0.name):\(Self.plain($0.abstract))'" }
        return """
            #compdef \(name)
            if ((CURRENT == 2)); then
                local -a commands=(\(names.joined(separator: " ")))
                _describe command commands
                return
            fi
            local command=$words[2]
            shift words
            ((CURRENT--))
            case $command in
            \(cases.joined())esac
            """
    }

    private static func zshAction(_ completion: Completion) -> String {
        switch completion {
        case .none: ""
        case .file: "_files"
        case .directory: "_files -/"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private var fishScript: String {
        let noCommand =
            "not __fish_seen_subcommand_from \(commands.map(\.name).joined(separator: " "))"
        var lines = ["complete -c \(name) -f"]
        for command in commands {
            lines.append(
                "complete -c \(name) -n '\(noCommand)' -a \(command.name)"
                    + " -d '\(Self.plain(command.abstract))'")
            let seen = "complete -c \(name) -n '__fish_seen_subcommand_from \(command.name)'"
            for option in command.options {
                let value = option.value == nil ? "" : Self.fishValue(option.completion)
                lines.append("\(seen) -l \(option.name)\(value) -d '\(Self.plain(option.help))'")
            }
            if command.operand?.completion == .file { lines.append("\(seen) -F") }
        }
        return lines.joined(separator: "\n")
    }

    private static func fishValue(_ completion: Completion) -> String {
        switch completion {
        case .none: " -x"
        case .file: " -r -F"
        case .directory: " -x -a '(__fish_complete_directories)'"
        case .words(let words): " -x -a '\(words.joined(separator: " "))'"
        }
    }

    private var words: String {
        (options.map { "--\($0.name)" } + ["--help"]).joined(separator: " ")
    }

    private var firstWords: String {
        (commands.map(\.name) + ["help", "--help", "--version"]).joined(separator: " ")
    }

    /// The first sentence without what shells read as their own.
    private static func plain(_ text: String) -> String {
        let sentence = text.split(separator: ".", maxSplits: 1).first.map(String.init) ?? text
        return String(sentence.map { "'\"[]:\\`$".contains($0) ? " " : $0 })
    }
}
