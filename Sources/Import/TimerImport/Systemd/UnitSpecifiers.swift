// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// The specifiers of systemd.unit(5), such as `%i`, and what they stand for in one unit.
struct UnitSpecifiers {
    /// What each specifier stands for, other than those of the name of the unit.
    let machine: [Character: String]
    let name: UnitName
    /// The path of the unit's main file, for the specifiers about it.
    let path: String

    /// A text with its specifiers replaced, and what has to be said of it.
    struct Expansion: Hashable {
        var text = ""
        /// Letters and digits behind a % that are no specifiers, or have no value in a job. systemd does
        /// not use a value that has one.
        var unknown: [String] = []
        /// Specifiers of which the value is that of this machine, now.
        var local: [String] = []
    }

    /// The directory of credentials is another one for each run, so that it is a variable of the run.
    static let credentials = "${CREDENTIALS_DIRECTORY}"

    /// - Parameter variables: whether variables are replaced in the text afterwards.
    /// - Complexity: O(*n*).
    func expand(_ text: String, variables: Bool = false) -> Expansion {
        var result = Expansion()
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "%", let letter = rest.first else {
                result.text.unicodeScalars.append(scalar)
                continue
            }
            rest = rest.dropFirst()
            let character = Character(letter)
            if character == "%" {
                result.text += "%"
            } else if character == "d", variables {
                result.text += Self.credentials
            } else if let value = ofName(character) {
                result.text += value
            } else if let value = machine[character] {
                result.text += value
                if !Self.fixed.contains(character) { result.local.append("%\(character)") }
            } else {
                result.text += "%\(character)"
                if letter.isASCII, character.isLetter || character.isNumber {
                    result.unknown.append("%\(character)")
                }
            }
        }
        return result
    }

    /// These are the same on each machine with a system manager.
    private static let fixed: Set<Character> = [
        "h", "u", "U", "g", "G", "s", "t", "S", "C", "L", "E", "T", "V",
    ]

    /// The values of the system manager (systemd.unit(5), "Specifiers").
    static let systemManager: [Character: String] = [
        "h": "/root", "u": "root", "U": "0", "g": "root", "G": "0", "s": "/bin/sh", "t": "/run",
        "S": "/var/lib", "C": "/var/cache", "L": "/var/log", "E": "/etc", "T": "/tmp",
        "V": "/var/tmp",
    ]

    private func ofName(_ specifier: Character) -> String? {
        switch specifier {
        case "n": name.description
        case "N": name.stem
        case "p": name.prefix
        case "P": UnitName.unescaped(name.prefix)
        case "i": name.instance ?? ""
        case "I": UnitName.unescaped(name.instance ?? "")
        case "j": lastPart
        case "J": UnitName.unescaped(lastPart)
        case "f": file
        case "y": path
        case "Y": path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        default: nil
        }
    }

    private var lastPart: String {
        name.prefix.lastIndex(of: "-").map { String(name.prefix[name.prefix.index(after: $0)...]) }
            ?? name.prefix
    }

    private var file: String {
        let part = name.instance.flatMap { $0.isEmpty ? nil : $0 } ?? name.prefix
        let unescaped = part == "-" ? "" : UnitName.unescaped(part)
        return unescaped.hasPrefix("/") ? unescaped : "/" + unescaped
    }
}
