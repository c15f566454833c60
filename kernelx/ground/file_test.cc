// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ground/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "kernelx/ground/error.h"
#include "kernelx/ground/testing.h"

namespace kernelx {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Path(const std::string& name) const { return temporary_.File(name); }
  [[nodiscard]] size_t Entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string ErrorOf(const std::function<void()>& action,
                             ErrorCode code = ErrorCode::kFile) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "";
  }

 private:
  TempFolder temporary_;

 protected:
  const std::string& folder_ = temporary_.path();
};

TEST_F(FileTest, AppearsOnlyAtCommitAndReplacesWhatWasThere) {
  WriteFileAtomically(Path("x"), "old");
  {
    AtomicFile file(Path("x"));
    file.Write("new ");
    file.Write("text");
    EXPECT_EQ(ReadFile(Path("x")), "old");
    file.Commit();
  }
  EXPECT_EQ(ReadFile(Path("x")), "new text");
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(FileTest, WithoutCommitNothingIsLeft) {
  for (const bool staged : {false, true}) {
    AtomicFile file(Path("x"));
    file.Write(std::string(3 << 20, 'a'));  // beyond the buffer
    if (staged) file.Stage();
    EXPECT_EQ(Entries(), 1U);
    EXPECT_FALSE(fs::exists(Path("x")));
  }
  EXPECT_EQ(Entries(), 0U);
}

TEST_F(FileTest, StagedFilesAppearByCommitAlone) {
  AtomicFile file(Path("x"));
  file.Write("text");
  file.Stage();
  EXPECT_FALSE(fs::exists(Path("x")));
  file.Stage();
  file.Commit();
  EXPECT_EQ(ReadFile(Path("x")), "text");
}

TEST_F(FileTest, AFullDiskIsAnErrorAndLeavesTheOldFile) {
  WriteFileAtomically(Path("x"), "old");
  const std::string what = ErrorOf([&] {
    const FileSizeLimit limit(1000);
    WriteFileAtomically(Path("x"), std::string(4000, 'a'));
  });
  EXPECT_NE(what.find(Path("x") + ": cannot write"), std::string::npos) << what;
  EXPECT_EQ(ReadFile(Path("x")), "old");
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(FileTest, NamesThePathOfWhatCannotBeWritten) {
  EXPECT_NE(ErrorOf([&] { AtomicFile file(Path("none/x")); }).find("none/x: cannot write"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { AtomicFile file{std::string(folder_)}; }).find("not a folder"),
            std::string::npos);
}

TEST_F(FileTest, NamesThePathOfWhatCannotBeRead) {
  EXPECT_NE(ErrorOf([&] { ReadFile(Path("none")); }).find("none: cannot read: No such file"),
            std::string::npos);
  EXPECT_NE(ErrorOf([&] { ReadFile(folder_); }).find("name a file, not a folder"),
            std::string::npos);
  if (::geteuid() == 0) GTEST_SKIP() << "root reads files without permission too";
  WriteFileAtomically(Path("secret"), "x");
  fs::permissions(Path("secret"), fs::perms::none);
  EXPECT_NE(ErrorOf([&] { ReadFile(Path("secret")); }).find("check the permissions"),
            std::string::npos);
}

TEST_F(FileTest, ReadsEmptyAndBinaryFiles) {
  WriteFileAtomically(Path("empty"), "");
  EXPECT_EQ(ReadFile(Path("empty")), "");
  const std::string bytes("a\0b\nc\xff", 6);
  WriteFileAtomically(Path("binary"), bytes);
  EXPECT_EQ(ReadFile(Path("binary")), bytes);
}

}  // namespace
}  // namespace kernelx
