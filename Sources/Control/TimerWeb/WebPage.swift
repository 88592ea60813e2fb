// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CWebPage
import NIOCore
import NIOHTTP1
import TimerCore
import TimerHTTP

/// The files of the status page. They are part of the program, contain no data, and are served without a login. Their
/// comments and indentation are not served, so that these can be as long as they need to be.
package struct WebPage: Sendable {
    package init() {}

    /// One file, with all that its answers need.
    package struct File: Sendable {
        let contentType: String
        let bytes: ByteBuffer
        /// By which a browser asks whether the file has changed (ETag).
        let tag: String

        /// Nil if a file with this name is not one of the page.
        init?(_ file: cwebpage_file) {
            let name = String(cString: file.path)
            guard let contentType = WebPage.contentType(of: name) else { return nil }
            self.contentType = contentType
            let source = UnsafeBufferPointer(start: file.bytes, count: file.size)
            bytes = ByteBuffer(bytes: WebPage.condensed(source))
            // The hash tells versions apart, so that an update of the program is noticed.
            tag = "\"\(String(FNV1a.hash(bytes.readableBytesView), radix: 16))\""
        }

        /// - Parameter known: the headers `If-None-Match`: a browser that has this version gets no body.
        func answer(known: [String]) -> ControlAnswer {
            let tags = known.flatMap { $0.split(separator: ",") }.map { tag in
                tag.drop { $0 == " " }.trimmingPrefix("W/")
            }
            let isKnown = tags.contains { $0 == tag[...] }
            var answer = ControlAnswer(isKnown ? .notModified : .ok, text: [])
            if !isKnown { answer.line = bytes }
            answer.contentType = contentType
            answer.headers = [("Cache-Control", "no-cache"), ("ETag", tag)]
            return answer
        }
    }

    private let files: [String: File] = {
        var count = 0
        let all = UnsafeBufferPointer(start: cwebpage_files(&count), count: count)
        return Dictionary(
            uniqueKeysWithValues: all.compactMap { file in
                File(file).map { (String(cString: file.path), $0) }
            })
    }()

    /// The paths of all files.
    package var paths: [String] { files.keys.sorted() }

    /// The type of a file by the end of its path; nil for a type that the page does not have.
    private static func contentType(of path: String) -> String? {
        switch path.split(separator: ".").last {
        case _ where path == "/": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        default: nil
        }
    }

    /// The file at a path; nil if there is none.
    func file(at path: Substring) -> File? { files[String(path)] }

    /// A file in which lines begin with their first character, and lines that are only comments are empty, except the
    /// first ones with the license. The lines keep their numbers, which browsers name in errors.
    static func condensed(_ source: some Collection<UInt8>) -> [UInt8] {
        var served: [UInt8] = []
        var isInBlock = false
        var isHead = true
        for line in source.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let text = line.drop { $0 == UInt8(ascii: " ") }
            // A line with code behind the comment is kept.
            let opens =
                text.starts(with: "/*".utf8)
                && (endsBlock(text) || text.firstRange(of: "*/".utf8) == nil)
            let isBlock = isInBlock || opens
            let isComment =
                isBlock || text.starts(with: "//".utf8)
                || (text.starts(with: "<!--".utf8) && text.suffix(3).elementsEqual("-->".utf8))
            if !isComment || isHead { served += isComment ? line : text }
            isInBlock = isBlock && !endsBlock(text)
            // Behind the license, a comment is about the code.
            let isLicense = isHead && isComment && text.firstRange(of: licenseMark) != nil
            if isLicense, isInBlock { served += " */".utf8 }
            isHead = isHead && !isLicense && (isComment || text.isEmpty)
            served.append(UInt8(ascii: "\n"))
        }
        served.removeLast()
        return served
    }

    private static let licenseMark = Array("SPDX-License-Identifier".utf8)

    private static func endsBlock(_ line: some Collection<UInt8>) -> Bool {
        line.suffix(2).elementsEqual("*/".utf8)
    }
}
