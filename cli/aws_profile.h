/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of an S3 store as Amazon's own programs keep them for a person: in a file of profiles,
 * "[name]" and "aws_access_key_id = …" below it. Only the command that a person runs looks there;
 * what the plugins start is told everything. */
#ifndef CLI_AWS_PROFILE_H
#define CLI_AWS_PROFILE_H

/* Each is to be freed, and NULL where the profile does not say it. */
struct aws_profile {
  char *access_key;
  char *secret_key;
  char *session_token;
};

/* Of $AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials; profile $AWS_PROFILE, else "default".
 * Nothing when there is no such file. */
void aws_profile_load(struct aws_profile *ret_profile);
void aws_profile_clear(struct aws_profile *profile);

#endif
